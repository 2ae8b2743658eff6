//! The layers of crates and rooms in `crates/layers.txt`, for the tests of the layers.

use crate::Done;

/// File of the layers, relative to the workspace.
pub const PATH: &str = "crates/layers.txt";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub crate_: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    pub name: String,
    /// Crates of the house that it needs, tests apart.
    pub needs: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    pub layers: Vec<Vec<Room>>,
    /// Modules that all may use, and that use none.
    pub leaves: Vec<Room>,
    /// User and used, forbidden although below.
    pub never: Vec<(String, String)>,
    /// All crates, those that need others before those.
    pub crates: Vec<Crate>,
}

impl Layers {
    pub fn read(text: &str) -> Done<Self> {
        let mut house = Self::default();
        let mut part = "";
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if ["layer", "leaves", "never", "crates"].contains(&line) {
                part = line;
                if part == "layer" {
                    house.layers.push(Vec::new());
                }
                continue;
            }
            let own = line.split_once(':').map(|(name, rest)| (name.trim(), rest.trim()));
            let added = own.and_then(|(name, rest)| house.add(part, name, rest));
            added.ok_or_else(|| format!("{PATH}:{}: `{line}` is not understood", at + 1))?;
        }
        Ok(house)
    }

    fn add(&mut self, part: &str, name: &str, rest: &str) -> Option<()> {
        let room = |name: &str| {
            let (crate_, name) = name.split_once('/')?;
            let own = |text: &str| text.to_owned();
            Some(Room { crate_: own(crate_), name: own(name) })
        };
        match part {
            "layer" => self.layers.last_mut()?.push(room(name)?),
            "leaves" => self.leaves.push(room(name)?),
            "never" => self.never.push((name.to_owned(), rest.to_owned())),
            "crates" => {
                let (_, needs) = rest.split_once("->")?;
                let needs = needs.split_whitespace().map(str::to_owned).collect();
                self.crates.push(Crate { name: name.to_owned(), needs });
            }
            _ => return None,
        }
        Some(())
    }

    /// Layer of a module, from the top; `None` for leaves and unknown names.
    pub fn of(&self, room: &str) -> Option<usize> {
        self.layers.iter().position(|layer| layer.iter().any(|one| one.name == room))
    }

    pub fn is_leaf(&self, room: &str) -> bool {
        self.leaves.iter().any(|leaf| leaf.name == room)
    }

    pub fn may_use(&self, user: &str, used: &str) -> bool {
        if user == used || self.is_leaf(used) {
            return true;
        }
        let forbidden = self.never.iter().any(|(from, to)| from == user && to == used);
        match (self.of(user), self.of(used)) {
            (Some(from), Some(to)) => from < to && !forbidden,
            _ => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    const HOUSE: &str = "# top\nlayer\na/x: one: two\na/y: other\n\nlayer\nb/z: below\nlayer\nb/w: low\nleaves\nb/l: leaf\nnever\nx: w\ncrates\na: first -> b\nb: second ->\n";

    #[test]
    fn what_stands_below_may_be_used() {
        let house = Layers::read(HOUSE).unwrap();
        assert_eq!(house.layers[0][0].name, "x");
        assert_eq!(house.crates[0].needs, ["b"]);
        for (user, used) in [("x", "z"), ("z", "w"), ("x", "x"), ("w", "l"), ("l", "l")] {
            assert!(house.may_use(user, used), "{user} {used}");
        }
        for (user, used) in [("x", "y"), ("z", "x"), ("x", "w"), ("l", "w"), ("x", "none")] {
            assert!(!house.may_use(user, used), "{user} {used}");
        }
    }

    #[test]
    fn a_line_that_is_no_room_is_told_with_its_number() {
        for (text, line) in [("layer\na: no crate", 2), ("a/b: before", 1), ("crates\n\na: x", 3)] {
            let error = Layers::read(text).unwrap_err();
            assert!(error.starts_with(&format!("{PATH}:{line}: ")), "{error}");
        }
    }
}
