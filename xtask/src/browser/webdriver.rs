//! WebDriver, as far as the tests of pages need it: JSON over HTTP
//! (<https://www.w3.org/TR/webdriver2/>).

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::lab::Done;

/// A driver that does not answer for so long has hung.
const LIMIT: Duration = Duration::from_secs(120);
/// The same at the end, when nothing is to be learned any more.
pub const LAST_LIMIT: Duration = Duration::from_secs(10);
/// The driver gives a page or a script up earlier: it can say which.
const PATIENCE_MS: u64 = 60_000;
/// Far more than a picture or a print has; only an answer without end is to fail.
const MOST_BYTES: u64 = 256 << 20;
/// The name under which the standard hands out an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A client of a driver on this machine, and of the one browser that it has the driver start.
pub struct Client {
    agent: Agent,
    driver: String,
    /// What commands to the browser begin with.
    session: String,
}

impl Client {
    /// A client of the driver at a port, without a browser yet.
    pub fn new(port: u16) -> Self {
        Self { agent: agent(), driver: format!("http://127.0.0.1:{port}"), session: String::new() }
    }

    /// Starts the browser; returns its capabilities.
    pub fn start(&mut self, options: &Value) -> Done<Value> {
        let sessions = format!("{}/session", self.driver);
        let wanted = json!({ "capabilities": { "alwaysMatch": options } });
        let mut started = post(&self.agent, &sessions, &wanted)?;
        let id = started["sessionId"].as_str().ok_or("the driver named no session")?;
        self.session = format!("{sessions}/{id}");
        let patience = json!({ "pageLoad": PATIENCE_MS, "script": PATIENCE_MS });
        self.post("timeouts", &patience)?;
        Ok(started["capabilities"].take())
    }

    /// Has the driver close its browser, clear up and end. The standard knows no such command: it
    /// has one that only closes the browser, and a driver that is killed then leaves a profile.
    pub fn shut_down(&self) -> Done<()> {
        let asked = self.agent.get(format!("{}/shutdown", self.driver));
        value(asked.config().timeout_global(Some(LAST_LIMIT)).build().call()).map(drop)
    }

    /// Asks for something.
    pub fn get(&self, command: &str) -> Done<Value> {
        value(self.agent.get(self.at(command)).call())
    }

    /// Has something done.
    pub fn post(&self, command: &str, body: &Value) -> Done<Value> {
        post(&self.agent, &self.at(command), body)
    }

    /// Does something to the first element that fits.
    pub fn post_to(&self, selector: &str, command: &str, body: &Value) -> Done<Value> {
        let wanted = json!({ "using": "css selector", "value": selector });
        let element = self.post("element", &wanted)?;
        let id = element[ELEMENT].as_str().ok_or("the driver named no element")?;
        self.post(&format!("element/{id}/{command}"), body)
    }

    fn at(&self, command: &str) -> String {
        format!("{}/{command}", self.session)
    }
}

fn agent() -> Agent {
    Agent::new_with_config(
        Agent::config_builder()
            // What went wrong stands in the body.
            .http_status_as_error(false)
            // The driver is on this machine, whatever the environment says of others.
            .proxy(None)
            .timeout_global(Some(LIMIT))
            .build(),
    )
}

fn post(agent: &Agent, address: &str, body: &Value) -> Done<Value> {
    value(agent.post(address).content_type("application/json").send(body.to_string()))
}

/// What a driver answers, or what it says of its error.
fn value(response: Result<Response<Body>, ureq::Error>) -> Done<Value> {
    let mut response = response.map_err(|error| format!("the driver: {error}"))?;
    let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_string();
    let body = body.map_err(|error| format!("the driver's answer: {error}"))?;
    read(response.status().is_success(), &body)
}

fn read(well: bool, body: &str) -> Done<Value> {
    let mut answer: Value =
        serde_json::from_str(body).map_err(|error| format!("no JSON ({error}): {body}"))?;
    let value =
        answer.get_mut("value").map(Value::take).ok_or_else(|| format!("no value: {body}"))?;
    if well {
        return Ok(value);
    }
    let word = |key: &str| value[key].as_str().unwrap_or("?");
    Err(format!("{}: {}", word("error"), word("message")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_value() {
        assert_eq!(read(true, r#"{"value":[1]}"#), Ok(json!([1])));
        assert_eq!(read(true, r#"{"value":null}"#), Ok(Value::Null));
    }

    #[test]
    fn an_error_is_what_the_driver_says() {
        let body = r#"{"value":{"error":"no such element","message":"none fits","stacktrace":""}}"#;
        assert_eq!(read(false, body), Err("no such element: none fits".to_owned()));
        for nothing in ["Bad Gateway", "[]", "{}"] {
            assert!(read(true, nothing).is_err_and(|error| error.ends_with(nothing)));
        }
    }
}
