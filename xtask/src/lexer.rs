//! Cuts Rust source into tokens and comments, each with its line.
//!
//! Knows just enough of the language that a word inside a string or a comment is never taken for code. It does not
//! parse: text that the compiler would refuse still yields tokens.

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    /// The identifier, the one character of a punctuation, or what stands between the quotes of a string.
    pub text: String,
    /// From 1, where the token begins.
    pub line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Identifiers and keywords; a raw identifier without its `r#`.
    Word,
    Punctuation,
    /// Any kind of string, without prefix and quotes.
    Text,
    /// Numbers, characters and lifetimes: nothing that a rule asks for.
    Other,
}

/// A comment of one line, or one line of a comment of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub text: String,
    pub line: usize,
}

/// Tokens and comments of a file, both in order.
pub fn lex(source: &str) -> (Vec<Token>, Vec<Comment>) {
    let mut lexer = Lexer {
        characters: source.chars().collect(),
        at: 0,
        line: 1,
        tokens: Vec::new(),
        comments: Vec::new(),
    };
    while lexer.at < lexer.characters.len() {
        lexer.step();
    }
    (lexer.tokens, lexer.comments)
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn take(&mut self) -> Option<char> {
        let character = self.peek(0)?;
        self.at += 1;
        if character == '\n' {
            self.line += 1;
        }
        Some(character)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(character) = self.peek(0).filter(|character| keep(*character)) {
            text.push(character);
            self.take();
        }
        text
    }

    fn push(&mut self, kind: Kind, text: String, line: usize) {
        self.tokens.push(Token { kind, text, line });
    }

    fn step(&mut self) {
        let line = self.line;
        let Some(first) = self.peek(0) else { return };
        match (first, self.peek(1)) {
            ('/', Some('/')) => {
                let text = self.take_while(|character| character != '\n');
                self.comments.push(Comment { text, line });
            }
            ('/', Some('*')) => self.block_comment(),
            ('"', _) => self.text(line),
            ('\'', _) => self.character_or_lifetime(line),
            _ if first.is_whitespace() => {
                self.take();
            }
            _ if first.is_ascii_digit() => {
                self.take_while(is_word);
                self.push(Kind::Other, String::new(), line);
            }
            _ if is_word(first) => self.word(line),
            _ => {
                self.take();
                self.push(Kind::Punctuation, first.to_string(), line);
            }
        }
    }

    /// Comments nest.
    fn block_comment(&mut self) {
        let mut depth = 0;
        let mut text = String::new();
        let mut line = self.line;
        while let Some(character) = self.peek(0) {
            let pair = (character, self.peek(1));
            if pair == ('/', Some('*')) || pair == ('*', Some('/')) {
                depth += if character == '/' { 1 } else { -1 };
                self.take();
            }
            self.take();
            if character == '\n' {
                let text = std::mem::take(&mut text);
                self.comments.push(Comment { text, line });
                line = self.line;
            } else {
                text.push(character);
            }
            if depth == 0 {
                break;
            }
        }
        self.comments.push(Comment { text, line });
    }

    /// From the opening quote on.
    fn text(&mut self, line: usize) {
        self.take();
        let mut text = String::new();
        while let Some(character) = self.take() {
            match character {
                '"' => break,
                '\\' => {
                    text.push(character);
                    text.extend(self.take());
                }
                _ => text.push(character),
            }
        }
        self.push(Kind::Text, text, line);
    }

    /// From the first `#` or the opening quote on; nothing is escaped.
    fn raw_text(&mut self, line: usize) {
        let fence = self.take_while(|character| character == '#');
        self.take();
        let closing: Vec<char> = format!("\"{fence}").chars().collect();
        let mut text = String::new();
        while self.at < self.characters.len() {
            if self.characters[self.at..].starts_with(&closing) {
                self.at += closing.len();
                break;
            }
            text.extend(self.take());
        }
        self.push(Kind::Text, text, line);
    }

    fn character_or_lifetime(&mut self, line: usize) {
        self.take();
        if self.peek(0) == Some('\\') {
            self.take();
            self.take();
            self.take_while(|character| character != '\'');
            self.take();
        } else if self.peek(1) == Some('\'') {
            self.take();
            self.take();
        } else {
            self.take_while(is_word);
        }
        self.push(Kind::Other, String::new(), line);
    }

    /// An identifier, or the prefix of a string or of a raw identifier.
    fn word(&mut self, line: usize) {
        let word = self.take_while(is_word);
        match (word.as_str(), self.peek(0), self.peek(1)) {
            ("b" | "c", Some('"'), _) => self.text(line),
            ("b", Some('\''), _) => self.character_or_lifetime(line),
            ("r" | "br" | "cr", Some('"'), _) | ("r" | "br" | "cr", Some('#'), Some('"' | '#')) => {
                self.raw_text(line)
            }
            ("r", Some('#'), Some(next)) if is_word(next) => {
                self.take();
                let word = self.take_while(is_word);
                self.push(Kind::Word, word, line);
            }
            _ => self.push(Kind::Word, word, line),
        }
    }
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        let (tokens, _) = lex(source);
        let words = tokens.into_iter().filter(|token| token.kind == Kind::Word);
        words.map(|token| token.text).collect()
    }

    #[test]
    fn strings_comments_and_characters_hold_no_words() {
        let source = r####"
            // one
            /* two /* three */ four */
            /// five
            let a = "six \" seven";
            let b = r#"eight " nine"#;
            let c = (b"ten", br##"eleven "# twelve"##, c"thirteen");
            let d: &'static str = f('\'', 'x', b'y', '\u{1F600}', "");
            let r#e = 1_000u64..0xffusize;
        "####;
        assert_eq!(
            words(source),
            [
                "let", "a", "let", "b", "let", "c", "let", "d", "str", "f", "let", "e"
            ]
        );
    }

    #[test]
    fn lines_count_through_texts_and_comments() {
        let (tokens, comments) = lex("\"a\nb\" /* c\n d */ x\n// y\n'\\n' z");
        assert_eq!(tokens[0].line, 1);
        assert_eq!((tokens[1].text.as_str(), tokens[1].line), ("x", 3));
        assert_eq!((tokens[3].text.as_str(), tokens[3].line), ("z", 5));
        let lines: Vec<usize> = comments.iter().map(|comment| comment.line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn text_that_ends_early_still_yields_tokens() {
        for source in ["\"a", "r#\"a", "/* a", "'", "b'", "r#", "'\\"] {
            lex(source);
        }
        assert_eq!(lex("x \"open").0[1].text, "open");
    }
}
