//! Filters over rows: `write_iops>=90`, `device~sandisk`, `trust=trusted`, all of which have to hold.

use std::cmp::Ordering;

use super::flat::{self, Flat, Value};

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    column: usize,
    relation: Relation,
    /// In small letters, as words are compared.
    value: String,
    number: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    AtLeast,
    AtMost,
    Not,
    Above,
    Below,
    Is,
    Holds,
}

/// How relations are written, longer ones first.
const RELATIONS: [(&str, Relation); 7] = [
    (">=", Relation::AtLeast),
    ("<=", Relation::AtMost),
    ("!=", Relation::Not),
    (">", Relation::Above),
    ("<", Relation::Below),
    ("=", Relation::Is),
    ("~", Relation::Holds),
];

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    conditions: Vec<Condition>,
    /// Column that is sorted by, and whether the largest comes first.
    order: Option<(usize, bool)>,
}

impl Query {
    /// Reads conditions, and a column to sort by (`-write_iops`: the largest first).
    ///
    /// # Errors
    /// In one line with what can be asked.
    pub fn parse(conditions: &[String], sort: Option<&str>) -> Result<Self, String> {
        let conditions = conditions.iter().map(|text| condition(text)).collect::<Result<_, _>>()?;
        let order = sort.map(|text| {
            let name = text.strip_prefix('-').unwrap_or(text);
            column(name).map(|index| (index, name.len() < text.len()))
        });
        Ok(Self { conditions, order: order.transpose()? })
    }

    /// The rows for which all conditions hold, in the order that was asked for; what has no value comes
    /// last either way.
    pub fn of<'a>(&self, rows: impl IntoIterator<Item = &'a Flat>) -> Vec<&'a Flat> {
        let holds = |row: &&Flat| {
            self.conditions.iter().all(|condition| condition.holds(row.value(condition.column)))
        };
        let mut found: Vec<&Flat> = rows.into_iter().filter(holds).collect();
        if let Some((column, falling)) = self.order {
            found.sort_by(|a, b| match (a.value(column), b.value(column)) {
                (Value::Nothing, Value::Nothing) => Ordering::Equal,
                (Value::Nothing, _) => Ordering::Greater,
                (_, Value::Nothing) => Ordering::Less,
                (a, b) if falling => order(b, a),
                (a, b) => order(a, b),
            });
        }
        found
    }
}

/// Numbers by size, words by letters.
fn order(a: Value<'_>, b: Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.total_cmp(&b),
        (a, b) => a.to_string().to_lowercase().cmp(&b.to_string().to_lowercase()),
    }
}

fn column(name: &str) -> Result<usize, String> {
    let columns = flat::columns();
    columns
        .iter()
        .position(|own| *own == name)
        .ok_or_else(|| format!("rows have no `{name}`; they have {}", columns.join(", ")))
}

fn condition(text: &str) -> Result<Condition, String> {
    let wrong = || {
        format!(
            "`{text}` is no condition: write it like write_iops>=90, device~sandisk or trust=trusted"
        )
    };
    let at = text.find(['>', '<', '=', '!', '~']).ok_or_else(wrong)?;
    let (name, rest) = text.split_at(at);
    let (sign, relation) =
        RELATIONS.into_iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(wrong)?;
    let value = rest[sign.len()..].trim().to_owned();
    let column = column(name.trim())?;
    let number = value.parse().ok();
    let by_size = !matches!(relation, Relation::Is | Relation::Not | Relation::Holds)
        && name.trim() != "date";
    if by_size && number.is_none() {
        return Err(format!("`{text}`: {value} is no number"));
    }
    Ok(Condition { column, relation, value: value.to_lowercase(), number })
}

impl Condition {
    /// What has no value fits no condition but that it is not another.
    fn holds(&self, own: Value<'_>) -> bool {
        let text = match (own, self.number, self.relation) {
            (Value::Nothing, ..) => {
                return (self.relation == Relation::Not) != self.value.is_empty();
            }
            (Value::Number(own), Some(number), relation) if relation != Relation::Holds => {
                return self.fits(own.total_cmp(&number));
            }
            (own, ..) => own.to_string().to_lowercase(),
        };
        match self.relation {
            Relation::Holds => text.contains(&self.value),
            _ => self.fits(text.as_str().cmp(&self.value)),
        }
    }

    /// Whether what a row has stands so to what was asked for.
    fn fits(&self, ordering: Ordering) -> bool {
        match self.relation {
            Relation::AtLeast => ordering.is_ge(),
            Relation::AtMost => ordering.is_le(),
            Relation::Above => ordering.is_gt(),
            Relation::Below => ordering.is_lt(),
            Relation::Is | Relation::Holds => ordering.is_eq(),
            Relation::Not => ordering.is_ne(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: &str, writes: Option<f64>, date: &str) -> Flat {
        let mut row = Flat { device: device.to_owned(), date: date.to_owned(), ..Flat::default() };
        row.numbers[3] = writes;
        row
    }

    #[test]
    fn conditions_hold_together_and_what_is_absent_comes_last() {
        let rows = [
            row("SanDisk, \"Ultra\"", Some(19.0), "2026-11-24"),
            row("RC8", Some(2000.0), "2012-01-02"),
            row("no writes", None, ""),
        ];
        for row in &rows {
            let text = format!("{}\n{}\n", flat::head(flat::TAB), row.line(flat::TAB));
            assert_eq!(flat::table(&text), Some(vec![row.clone()]));
        }
        let asked = |conditions: &[&str], sort| {
            let words: Vec<String> = conditions.iter().map(|text| (*text).to_owned()).collect();
            let query = Query::parse(&words, sort).unwrap();
            query.of(&rows).iter().map(|row| row.device.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(asked(&["write_iops>=90"], None), ["RC8"]);
        assert_eq!(asked(&["device~sandisk", "write_iops < 90"], None), ["SanDisk, \"Ultra\""]);
        assert_eq!(asked(&["date>2020-01-01"], None), ["SanDisk, \"Ultra\""]);
        assert_eq!(asked(&["write_iops!=19"], None), ["RC8", "no writes"]);
        assert_eq!(asked(&[], Some("write_iops")), ["SanDisk, \"Ultra\"", "RC8", "no writes"]);
        assert_eq!(asked(&[], Some("-write_iops")), ["RC8", "SanDisk, \"Ultra\"", "no writes"]);
        for wrong in ["fast", "speed>3", "write_iops>fast", "=3"] {
            assert!(Query::parse(&[wrong.to_owned()], None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_relation_takes_what_it_says_of_numbers_words_days_and_nothing() {
        let rows = [
            row("A disk", Some(19.0), "2026-11-24"),
            row("b disc", Some(2000.0), "2012-01-02"),
            row("C none", None, ""),
        ];
        let asked = |condition: &str| -> String {
            let query = Query::parse(&[condition.to_owned()], None).unwrap();
            query.of(&rows).iter().map(|row| &row.device[..1]).collect()
        };
        for (condition, found) in [
            ("write_iops>=19", "Ab"),
            ("write_iops>19", "b"),
            ("write_iops<=19", "A"),
            ("write_iops<19", ""),
            ("write_iops = 19.0", "A"),
            ("write_iops!=19", "bC"),
            ("write_iops~00", "b"),
            ("write_iops=", "C"),
            ("write_iops!=", "Ab"),
            ("device~DIS", "Ab"),
            ("device=a disk", "A"),
            ("device!=a disk", "bC"),
            ("date>=2012-01-02", "Ab"),
            ("date>2012-01-02", "A"),
            ("date<=2012-01-02", "b"),
            ("date<2012-01-02", ""),
            ("date=", "C"),
        ] {
            assert_eq!(asked(condition), found, "{condition}");
        }
        let sorted = |sort: &str| -> String {
            let query = Query::parse(&[], Some(sort)).unwrap();
            query.of(&rows).iter().map(|row| &row.device[..1]).collect()
        };
        assert_eq!([sorted("device"), sorted("-device")], ["AbC", "CbA"].map(str::to_owned));
        assert_eq!([sorted("date"), sorted("-date")], ["bAC", "AbC"].map(str::to_owned));
        for wrong in ["device", "write_iops>", "write_iops<=fast", "speed=1"] {
            assert!(Query::parse(&[wrong.to_owned()], None).is_err(), "{wrong}");
        }
        assert!(Query::parse(&[], Some("speed")).unwrap_err().contains("write_iops"));
    }
}
