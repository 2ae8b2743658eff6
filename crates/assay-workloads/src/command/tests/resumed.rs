//! Steps before a study is resumed.

use super::*;

#[test]
fn what_is_set_up_once_is_so_again_where_a_study_goes_on() {
    let fake = fake();
    let again = |asked: &CommandSpec| asked.make_plan().unwrap().ready_again(&run_on(&fake, 0));
    let asked = CommandSpec { setup: Some("before".to_owned()), ..CommandSpec::new("work") };
    assert_eq!(again(&asked), Ok(Some("before".to_owned())));
    assert_eq!(again(&CommandSpec::new("work")), Ok(None));
    assert_eq!(fake.executed(), ["sh -c before"]);
}
