//! The layers of an arm: created from the lowest up, removed from the top down.

use std::path::{Path, PathBuf};

use crate::system::System;
use assay_core::failure::{Failure, Outcome};

use super::{
    Base, ByHand, Commands, Gives, LAYERS, Layer, Made, PermanentLayer, Recipe, Takes, Wish,
    goes_with, of_factor,
};
use crate::factors::Guard;
use crate::factors::permanent::ANY_DIRECTORY;

/// Recipes of an arm, the lowest first.
pub struct Stack {
    steps: Vec<(&'static dyn Layer, Box<dyn Recipe>)>,
}

#[derive(Debug)]
pub struct RaisedStack {
    pub base: Base,
    /// Created layers, each with its step in the stack.
    made: Vec<(usize, Made)>,
}

impl Stack {
    /// Returns the stack of requested levels; an error for an invalid level, or an option without its main factor.
    pub fn new(wish: &Wish<'_>) -> Result<Self, String> {
        for (name, level) in wish.levels {
            let Some(layer) = of_factor(name) else { continue };
            let factor = layer.factors().iter().find(|factor| factor.about().name == name);
            let is_valid = factor.is_some_and(|factor| factor.judge(level).is_ok());
            let lacks_main = goes_with(name).is_some_and(|main| wish.level(main).is_none());
            if !is_valid || lacks_main {
                return Err(format!("this version cannot create that {}", layer.noun()));
            }
        }
        Ok(Self::made_of(LAYERS, wish))
    }

    /// Builds the stack of these layers, the lowest first, for the requested levels.
    pub(super) fn made_of(layers: &[&'static dyn Layer], wish: &Wish<'_>) -> Self {
        let steps = layers.iter().filter_map(|layer| Some((*layer, layer.recipe(wish)?)));
        Self { steps: steps.collect() }
    }

    /// Returns whether there are no layers: trials use the target itself.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Names of the layers in the singular, the lowest first: `file system`.
    pub fn nouns(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(|(layer, _)| layer.noun())
    }

    /// Describes the layers, the uppermost first: `ext4`.
    pub fn words(&self) -> String {
        let words: Vec<String> =
            self.steps.iter().rev().map(|(_, recipe)| recipe.words()).collect();
        words.join(" on ")
    }

    /// Returns what is missing for creating the stack on devices of these sizes; `None` if nothing.
    pub fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String> {
        let mut sizes = self.used_inputs(below.to_vec());
        for (_, recipe) in &self.steps {
            let outputs = apply_layer(recipe.takes(), sizes, |below| {
                recipe.missing(system, below).map_or_else(|| Ok(recipe.room(below)), Err)
            });
            // The outputs of a layer are the inputs of the next one.
            match outputs {
                Ok(outputs) => sizes = outputs,
                Err(missing) => return Some(missing),
            }
        }
        None
    }

    /// Returns what is missing for creating the stack next to an existing directory; `None` if nothing.
    pub fn missing_beside(&self, system: &dyn System, directory: &Path) -> Option<String> {
        self.steps.iter().find_map(|(_, recipe)| recipe.missing_beside(system, directory))
    }

    /// Returns whether the stack uses all devices below; otherwise only the first.
    pub fn takes_all(&self) -> bool {
        self.steps.iter().any(|(_, recipe)| recipe.takes() == Takes::All)
    }

    /// Placeholders for the inputs of the stack: a directory, one device, or at least as many devices as it needs.
    pub fn open_names(&self, name: &str, members: usize) -> Vec<PathBuf> {
        if !self.needs_device() {
            return vec![ANY_DIRECTORY.into()];
        }
        let least = self.steps.iter().map(|(_, recipe)| recipe.least()).max().unwrap_or(1);
        let count = if self.takes_all() { members.max(least) } else { 1 };
        if count == 1 {
            return vec![name.into()];
        }
        (1..=count).map(|number| format!("{name}{number}").into()).collect()
    }

    /// Sentence on the data lost by creating the stack; `None` if it is next to a directory.
    pub fn lost(&self, below: &[PathBuf]) -> Option<String> {
        let used = self.used_inputs(below.to_vec());
        if !self.needs_device() || used.is_empty() {
            return None;
        }
        let names: Vec<String> = used.iter().map(|path| path.display().to_string()).collect();
        Some(format!("all data on {} are lost", names.join(", ")))
    }

    /// Returns whether the stack needs devices instead of a directory.
    fn needs_device(&self) -> bool {
        self.steps.iter().any(|(layer, _)| layer.needs_device())
    }

    /// The inputs that the stack uses: all, or only the first.
    fn used_inputs<T>(&self, mut below: Vec<T>) -> Vec<T> {
        if !self.takes_all() {
            below.truncate(1);
        }
        below
    }

    /// Creates all layers, from the lowest up. A failure removes all of them.
    pub fn make(&self, guard: &mut Guard<'_>, below: Vec<Base>) -> Outcome<RaisedStack> {
        let mut made = Vec::new();
        match self.make_layers(guard, below, &mut made) {
            Ok(base) => Ok(RaisedStack { base, made }),
            Err(failure) => Err(remove_layers(guard, &made).err().unwrap_or(failure)),
        }
    }

    /// Creates the layers and adds each to `made`, also before a failure; returns the output of the uppermost.
    fn make_layers(
        &self,
        guard: &mut Guard<'_>,
        below: Vec<Base>,
        made: &mut Vec<(usize, Made)>,
    ) -> Outcome<Base> {
        let mut bases = self.used_inputs(below);
        for (step, (_, recipe)) in self.steps.iter().enumerate() {
            bases = apply_layer(recipe.takes(), bases, |below| {
                let (base, undo) = guard.build(|builder| recipe.make(builder, below))?;
                made.push((step, Made { base: base.clone(), undo }));
                Ok::<Base, Failure>(base)
            })?;
        }
        let count = bases.len();
        let [base] = <[Base; 1]>::try_from(bases).map_err(|_| {
            Failure::refused(format!("trials need exactly one device, not {count}"))
        })?;
        Ok(base)
    }

    pub fn check(&self, system: &dyn System, raised: &RaisedStack) -> Result<(), String> {
        raised.made.iter().try_for_each(|(step, made)| {
            self.steps.get(*step).map_or(Ok(()), |(_, recipe)| recipe.check(system, made))
        })
    }

    /// Output of the uppermost layer; `None` without layers.
    pub fn gives(&self) -> Option<Gives> {
        self.steps.last().map(|(_, recipe)| recipe.gives())
    }

    /// Commands that create all layers on these files, and their output.
    pub fn commands(&self, below: Vec<PathBuf>) -> Commands {
        let mut acts = Vec::new();
        let mut files = self.used_inputs(below);
        for (_, recipe) in &self.steps {
            files = apply_commands(recipe.takes(), files, |below| {
                let commands = recipe.commands(below);
                acts.extend(commands.acts);
                commands.out
            });
        }
        Commands { acts, out: files.pop().unwrap_or_default() }
    }

    /// Parts that Assay can apply permanently, the lowest first.
    pub fn kept(&self, id: &str) -> Vec<PermanentLayer> {
        self.steps.iter().map(|(_, recipe)| recipe.kept(id)).collect()
    }

    /// Steps for the operator to create everything permanently, the lowest first.
    pub fn by_hand(&self, below: Vec<PathBuf>) -> Vec<ByHand> {
        let mut steps = Vec::new();
        let mut files = self.used_inputs(below);
        for (_, recipe) in &self.steps {
            files = apply_commands(recipe.takes(), files, |below| {
                let step = recipe.by_hand(below);
                let out = step.commands.out.clone();
                steps.push(step);
                out
            });
        }
        steps
    }
}

impl Guard<'_> {
    pub fn lower(&mut self, raised: &RaisedStack) -> Outcome<()> {
        remove_layers(self, &raised.made)
    }
}

fn remove_layers(guard: &mut Guard<'_>, made: &[(usize, Made)]) -> Outcome<()> {
    made.iter().rev().try_for_each(|(_, made)| guard.take_down(&made.undo))
}

/// Applies a layer to its inputs; returns the inputs of the next one. A layer that takes nothing adds to them.
fn apply_layer<T, E>(
    takes: Takes,
    below: Vec<T>,
    mut make: impl FnMut(&[T]) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    match takes {
        Takes::Nothing => {
            let made = make(&[])?;
            Ok(below.into_iter().chain([made]).collect())
        }
        Takes::One => below.iter().map(|input| make(std::slice::from_ref(input))).collect(),
        Takes::All => Ok(vec![make(&below)?]),
    }
}

/// [`apply_layer`] for a `make` that cannot fail.
fn apply_commands(
    takes: Takes,
    below: Vec<PathBuf>,
    mut make: impl FnMut(&[PathBuf]) -> PathBuf,
) -> Vec<PathBuf> {
    let made =
        apply_layer(takes, below, |below| Ok::<PathBuf, std::convert::Infallible>(make(below)));
    made.unwrap_or_else(|never| match never {})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_takes_nothing_one_or_all_of_what_lies_below() {
        let made = |takes| {
            let joined = |below: &[String]| Ok::<String, String>(format!("({})", below.join(" ")));
            apply_layer(takes, vec!["a".to_owned(), "b".to_owned()], joined)
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
