//! Absent is a value with a reason: never zero, never an error.

use serde::{Deserialize, Serialize};

/// Something that was looked for: there, or absent with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence<T> {
    Present(T),
    Absent(String),
}

impl<T> Presence<T> {
    pub fn absent(reason: impl Into<String>) -> Self {
        Self::Absent(reason.into())
    }

    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            Self::Absent(_) => None,
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Present(_) => None,
            Self::Absent(reason) => Some(reason),
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Presence<U> {
        match self {
            Self::Present(value) => Presence::Present(change(value)),
            Self::Absent(reason) => Presence::Absent(reason),
        }
    }

    /// Present when there is a value, absent with the reason otherwise.
    pub fn from_option(value: Option<T>, reason: impl Into<String>) -> Self {
        value.map_or_else(|| Self::Absent(reason.into()), Self::Present)
    }

    /// Picks a part of the value that may be absent itself; absent with the reason of the value, or of the part.
    pub fn part<U: Clone>(&self, pick: impl FnOnce(&T) -> &Presence<U>) -> Presence<U> {
        match self {
            Self::Present(value) => pick(value).clone(),
            Self::Absent(reason) => Presence::Absent(reason.clone()),
        }
    }

    /// Combines two values; absent with the first reason if either is absent.
    pub fn both<U, V>(&self, other: &Presence<U>, make: impl FnOnce(&T, &U) -> V) -> Presence<V> {
        match (self, other) {
            (Self::Present(one), Presence::Present(two)) => Presence::Present(make(one, two)),
            (Self::Absent(reason), _) | (_, Presence::Absent(reason)) => {
                Presence::Absent(reason.clone())
            }
        }
    }
}
