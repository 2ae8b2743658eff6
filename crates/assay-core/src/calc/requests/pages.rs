//! A sparse array: memory only near used indices, because imported recordings may use a few that are far apart.

const PAGE: usize = 512;

/// Numbers by index; unused ones have the default value.
#[derive(Debug, Default)]
pub(super) struct Pages<T> {
    /// Unused pages are empty.
    pages: Vec<Vec<T>>,
    length: usize,
}

impl<T: Copy + Default> Pages<T> {
    /// The number at an index, to change it; creates the page of an unused one.
    pub(super) fn at(&mut self, index: usize) -> &mut T {
        self.length = self.length.max(index + 1);
        let page = index / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, Vec::new);
        }
        let numbers = &mut self.pages[page];
        if numbers.is_empty() {
            numbers.resize(PAGE, T::default());
        }
        &mut numbers[index % PAGE]
    }

    /// Returns the highest used index plus one.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn all(&self) -> impl Iterator<Item = T> {
        let each = self
            .pages
            .iter()
            .flat_map(|page| (0..PAGE).map(move |at| page.get(at).copied().unwrap_or_default()));
        each.take(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_far_apart_takes_two_pages() {
        let mut numbers = Pages::<u32>::default();
        assert_eq!((numbers.len(), numbers.all().count()), (0, 0));
        *numbers.at(3) += 7;
        *numbers.at(1_000_000) += 1;
        *numbers.at(3) += 1;
        assert_eq!(numbers.pages.iter().filter(|page| !page.is_empty()).count(), 2);
        assert_eq!((numbers.len(), numbers.all().count()), (1_000_001, 1_000_001));
        let found: Vec<(usize, u32)> = numbers.all().enumerate().filter(|one| one.1 > 0).collect();
        assert_eq!(found, [(3, 8), (1_000_000, 1)]);
    }
}
