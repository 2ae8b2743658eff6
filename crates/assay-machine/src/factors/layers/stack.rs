//! What an arm stands on: the recipes of its layers, made from the lowest up, taken down from the top.

use std::path::{Path, PathBuf};

use crate::system::System;
use assay_core::failure::{Failure, Outcome};

use super::{
    Base, ByHand, Gives, Kept, LAYERS, Layer, Made, Recipe, Takes, Typed, Wish, goes_with,
    of_factor,
};
use crate::factors::Guard;
use crate::factors::permanent::ANY_DIRECTORY;

/// What is to be made for an arm, the lowest first.
pub struct Stack {
    steps: Vec<(&'static dyn Layer, Box<dyn Recipe>)>,
}

#[derive(Debug)]
pub struct Raised {
    pub base: Base,
    /// Each thing that was made, with the step of its stack.
    made: Vec<(usize, Made)>,
}

impl Stack {
    pub fn new(wish: &Wish<'_>) -> Result<Self, String> {
        for (name, level) in wish.levels {
            let Some(layer) = of_factor(name) else { continue };
            let own = layer.factors().iter().find(|factor| factor.about().name == name);
            let known = own.is_some_and(|factor| factor.judge(level).is_ok());
            let alone = goes_with(name).is_some_and(|first| wish.level(first).is_none());
            if !known || alone {
                return Err(format!("this version cannot create that {}", layer.noun()));
            }
        }
        Ok(Self::made_of(LAYERS, wish))
    }

    /// What layers, the lowest first, make of what is asked for.
    pub(super) fn made_of(layers: &[&'static dyn Layer], wish: &Wish<'_>) -> Self {
        let steps = layers.iter().filter_map(|layer| Some((*layer, layer.recipe(wish)?)));
        Self { steps: steps.collect() }
    }

    /// Whether nothing is made: trials stand on the target itself.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// What is made, in the singular, the lowest first: `file system`.
    pub fn nouns(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(|(layer, _)| layer.noun())
    }

    /// What it is, the uppermost first: `ext4`.
    pub fn words(&self) -> String {
        let words: Vec<String> = self.steps.iter().rev().map(|(_, one)| one.words()).collect();
        words.join(" on ")
    }

    /// What is missing here to make it on things of so many bytes each, if anything is.
    pub fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String> {
        let mut sizes = self.taken(below.to_vec());
        for (_, recipe) in &self.steps {
            let found = on(recipe.takes(), sizes, |below| match recipe.missing(system, below) {
                Some(missing) => Err(missing),
                None => Ok(recipe.room(below)),
            });
            match found {
                Ok(given) => sizes = given,
                Err(missing) => return Some(missing),
            }
        }
        None
    }

    /// What is missing here to make it beside a directory that is there, if anything is.
    pub fn missing_beside(&self, system: &dyn System, directory: &Path) -> Option<String> {
        self.steps.iter().find_map(|(_, recipe)| recipe.missing_beside(system, directory))
    }

    /// Whether it stands on all that there is below; else on the first of it.
    pub fn takes_all(&self) -> bool {
        self.steps.iter().any(|(_, recipe)| recipe.takes() == Takes::All)
    }

    /// Names that stand for members that nobody named: never fewer than it needs.
    pub fn open_names(&self, name: &str, members: usize) -> Vec<PathBuf> {
        if !self.needs_device() {
            return vec![ANY_DIRECTORY.into()];
        }
        let least = self.steps.iter().map(|(_, recipe)| recipe.least()).max().unwrap_or(1);
        match if self.takes_all() { members.max(least) } else { 1 } {
            1 => vec![name.into()],
            count => (1..=count).map(|at| format!("{name}{at}").into()).collect(),
        }
    }

    /// What is lost when it is made on that, as a sentence: none where it stands beside a directory.
    pub fn lost(&self, below: &[PathBuf]) -> Option<String> {
        let taken = self.taken(below.to_vec());
        let names: Vec<String> = taken.iter().map(|own| own.display().to_string()).collect();
        let gives_up = self.needs_device() && !names.is_empty();
        gives_up.then(|| format!("all data on {} are lost", names.join(", ")))
    }

    /// Whether it stands on devices; else beside a directory.
    fn needs_device(&self) -> bool {
        self.steps.iter().any(|(layer, _)| layer.needs_device())
    }

    fn taken<T>(&self, mut below: Vec<T>) -> Vec<T> {
        if !self.takes_all() {
            below.truncate(1);
        }
        below
    }

    /// Makes everything, from the lowest up. Where something cannot be had, all of it goes again.
    pub fn make(&self, guard: &mut Guard<'_>, below: Vec<Base>) -> Outcome<Raised> {
        let mut made = Vec::new();
        let raised = self.raise(guard, below, &mut made);
        match raised {
            Ok(base) => Ok(Raised { base, made }),
            Err(failure) => Err(down(guard, &made).err().unwrap_or(failure)),
        }
    }

    fn raise(
        &self,
        guard: &mut Guard<'_>,
        below: Vec<Base>,
        made: &mut Vec<(usize, Made)>,
    ) -> Outcome<Base> {
        let mut bases = self.taken(below);
        for (step, (_, recipe)) in self.steps.iter().enumerate() {
            bases = on(recipe.takes(), bases, |below| {
                let (base, undo) = guard.build(|builder| recipe.make(builder, below))?;
                made.push((step, Made { base: base.clone(), undo }));
                Ok::<Base, Failure>(base)
            })?;
        }
        match <[Base; 1]>::try_from(bases) {
            Ok([base]) => Ok(base),
            Err(bases) => {
                let count = bases.len();
                Err(Failure::refused(format!("trials need exactly one device, not {count}")))
            }
        }
    }

    pub fn see(&self, system: &dyn System, raised: &Raised) -> Result<(), String> {
        raised.made.iter().try_for_each(|(step, made)| {
            self.steps.get(*step).map_or(Ok(()), |(_, recipe)| recipe.see(system, made))
        })
    }

    /// What trials stand on; none where nothing is made.
    pub fn gives(&self) -> Option<Gives> {
        self.steps.last().map(|(_, recipe)| recipe.gives())
    }

    /// The lines with which everything is made, on the files of what lies below, and what comes of it.
    pub fn typed(&self, below: Vec<PathBuf>) -> Typed {
        let mut acts = Vec::new();
        let mut files = self.taken(below);
        for (_, recipe) in &self.steps {
            files = lines_on(recipe.takes(), files, |below| {
                let typed = recipe.typed(below);
                acts.extend(typed.acts);
                typed.out
            });
        }
        Typed { acts, out: files.pop().unwrap_or_default() }
    }

    /// What of it the tool itself can make last, the lowest first.
    pub fn kept(&self, id: &str) -> Vec<Kept> {
        self.steps.iter().map(|(_, recipe)| recipe.kept(id)).collect()
    }

    /// What one would do to have everything for keeps, the lowest first.
    pub fn by_hand(&self, below: Vec<PathBuf>) -> Vec<ByHand> {
        let mut found = Vec::new();
        let mut files = self.taken(below);
        for (_, recipe) in &self.steps {
            files = lines_on(recipe.takes(), files, |below| {
                let own = recipe.by_hand(below);
                let out = own.typed.out.clone();
                found.push(own);
                out
            });
        }
        found
    }
}

impl Guard<'_> {
    /// Takes everything down that was made for an arm, the uppermost first.
    pub fn lower(&mut self, raised: &Raised) -> Outcome<()> {
        down(self, &raised.made)
    }
}

fn down(guard: &mut Guard<'_>, made: &[(usize, Made)]) -> Outcome<()> {
    made.iter().rev().try_for_each(|(_, made)| guard.take_down(&made.undo))
}

/// What comes of things when a layer takes of them what it takes.
fn on<T, E>(
    takes: Takes,
    below: Vec<T>,
    mut make: impl FnMut(&[T]) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    match takes {
        Takes::Nothing => {
            let made = make(&[])?;
            Ok(below.into_iter().chain([made]).collect())
        }
        Takes::One => below.iter().map(|one| make(std::slice::from_ref(one))).collect(),
        Takes::All => Ok(vec![make(&below)?]),
    }
}

fn lines_on(
    takes: Takes,
    below: Vec<PathBuf>,
    mut line: impl FnMut(&[PathBuf]) -> PathBuf,
) -> Vec<PathBuf> {
    let made = on(takes, below, |below| Ok::<PathBuf, std::convert::Infallible>(line(below)));
    made.unwrap_or_else(|never| match never {})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_takes_nothing_one_or_all_of_what_lies_below() {
        let made = |takes| {
            let joined = |below: &[String]| Ok::<String, String>(format!("({})", below.join(" ")));
            on(takes, vec!["a".to_owned(), "b".to_owned()], joined)
        };
        let told = |found: &[&str]| Ok(found.iter().map(|one| (*one).to_owned()).collect());
        assert_eq!(made(Takes::One), told(&["(a)", "(b)"]), "encryption below RAID");
        assert_eq!(made(Takes::All), told(&["(a b)"]), "RAID");
        assert_eq!(
            made(Takes::Nothing),
            told(&["a", "b", "()"]),
            "another loop device beside them"
        );
    }
}
