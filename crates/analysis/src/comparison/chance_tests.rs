//! How often comparisons are wrong, in simulation with fixed seeds.
use super::tests::{load, run, side};
use super::*;
use crate::testing::Draw;

impl Draw {
    fn noise(&mut self, noise: Noise) -> f64 {
        match noise {
            Noise::LogNormal { deviation } => (deviation * self.normal()).exp(),
            Noise::SlowInTen => {
                let is_slow = self.share() < 0.1;
                (0.03 * self.normal()).exp() * if is_slow { 0.7 } else { 1.0 }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Noise {
    LogNormal { deviation: f64 },
    SlowInTen,
}

/// Repeats of loads flat out, whose true rates are these.
fn rates(name: &str, truths: &[f64], repeats: usize, noise: Noise, draw: &mut Draw) -> Side {
    let mut runs = Vec::new();
    for (place, truth) in truths.iter().enumerate() {
        for _ in 0..repeats {
            let rate = truth * draw.noise(noise);
            let name = format!("r{place}");
            runs.push(run(&name, load(None), &[(FigureKind::Rate, rate)]));
        }
    }
    side(name, runs)
}

/// The answers to so many pairs of which the second is better by this ratio.
fn answers(pairs: usize, ratio: f64, repeats: usize, noise: Noise) -> Vec<Answer> {
    let mut draw = Draw(repeats as u64);
    let one = |_| {
        let base = rates("a", &[1000.0], repeats, noise, &mut draw);
        let other = rates("b", &[1000.0 * ratio], repeats, noise, &mut draw);
        let compared = compare(&base, &other, &Comparing::default());
        compared.cells[0].figures[0].answer
    };
    (0..pairs).map(one).collect()
}

fn differ(answers: &[Answer]) -> usize {
    let differs =
        |one: &&Answer| matches!(one, Answer::Better | Answer::Worse | Answer::DiffersLess);
    answers.iter().filter(differs).count()
}

#[test]
fn equal_pairs_are_seldom_called_different() {
    let noises = [
        Noise::LogNormal { deviation: 0.03 },
        Noise::LogNormal { deviation: 0.15 },
        Noise::SlowInTen,
    ];
    for noise in noises {
        for repeats in [3, 5, 10] {
            let called = differ(&answers(2000, 1.0, repeats, noise));
            assert!(called <= 130, "{noise:?}, {repeats}: {called} of 2000");
            let is_exact = repeats == 10 && matches!(noise, Noise::LogNormal { .. });
            assert!(
                !is_exact || called >= 70,
                "{noise:?}, {repeats}: {called} of 2000"
            );
        }
    }
}

#[test]
fn a_true_difference_is_found_and_not_called_the_same() {
    let noise = Noise::LogNormal { deviation: 0.03 };
    let found = answers(1000, 1.05, 10, noise);
    let better = found.iter().filter(|one| **one == Answer::Better).count();
    let seen = differ(&found);
    assert!(seen >= 900, "{seen} of 1000, {better} better");
    let same = found.iter().filter(|one| **one == Answer::Same).count();
    assert!(same <= 50, "{same} of 1000");
    // At the margin itself, whatever the noise.
    for noise in [Noise::LogNormal { deviation: 0.01 }, noise] {
        for repeats in [3, 5, 10] {
            let all = answers(1000, 1.05, repeats, noise);
            let is_within = |one: &&Answer| matches!(one, Answer::Same | Answer::DiffersLess);
            let within = all.iter().filter(is_within).count();
            assert!(within <= 65, "{noise:?}, {repeats}: {within} of 1000");
        }
    }
}

#[test]
fn pages_of_equal_cells_seldom_carry_a_mark() {
    let noise = Noise::LogNormal { deviation: 0.03 };
    for repeats in [3, 5, 10] {
        let mut draw = Draw(7 + repeats as u64);
        let truths: Vec<f64> = (1..=96).map(|cell| 100.0 * f64::from(cell)).collect();
        let marked = (0..200).filter(|_| {
            let base = rates("a", &truths, repeats, noise, &mut draw);
            let other = rates("b", &truths, repeats, noise, &mut draw);
            let compared = compare(&base, &other, &Comparing::default());
            let answers: Vec<Answer> = compared
                .cells
                .iter()
                .map(|cell| cell.figures[0].answer)
                .collect();
            differ(&answers) > 0
        });
        let marked = marked.count();
        assert!(marked <= 16, "{repeats}: {marked} of 200");
    }
}
