//! The part of WebDriver that the tests need: JSON over HTTP (<https://www.w3.org/TR/webdriver2/>).

use std::time::Duration;

use minreq::{Method, Request};
use serde_json::{Value, json};

use crate::lab::Done;

const LIMIT: Duration = Duration::from_secs(120);
pub const LAST_LIMIT: Duration = Duration::from_secs(10);
/// Time limits of the driver for a page or a script; shorter, because its error names the page or script.
const PATIENCE_MS: u64 = 60_000;
/// Key of an element in the standard.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A client of a local driver and its only browser.
pub struct Client {
    port: u16,
    /// Prefix of the paths of browser commands.
    session: String,
}

impl Client {
    /// Creates a client of the driver at a port, without a browser yet.
    pub fn new(port: u16) -> Self {
        Self { port, session: String::new() }
    }

    /// Starts the browser; returns its capabilities.
    pub fn start(&mut self, options: &Value) -> Done<Value> {
        let wanted = json!({ "capabilities": { "alwaysMatch": options } }).to_string();
        let mut started = self.ask(Method::Post, "/session", &wanted, LIMIT)?;
        let id = started["sessionId"].as_str().ok_or("the driver named no session")?;
        self.session = format!("/session/{id}");
        let patience = json!({ "pageLoad": PATIENCE_MS, "script": PATIENCE_MS });
        self.post("timeouts", &patience)?;
        Ok(started["capabilities"].take())
    }

    /// Lets the driver close its browser, clean up and exit. The command of the standard only closes the browser, and a
    /// driver that is then killed leaves a profile.
    pub fn shut_down(&self) -> Done<()> {
        self.ask(Method::Get, "/shutdown", "", LAST_LIMIT).map(drop)
    }

    pub fn post(&self, command: &str, body: &Value) -> Done<Value> {
        let path = format!("{}/{command}", self.session);
        self.ask(Method::Post, &path, &body.to_string(), LIMIT)
    }

    /// Runs a command on the first element that matches.
    pub fn post_to(&self, selector: &str, command: &str, body: &Value) -> Done<Value> {
        let wanted = json!({ "using": "css selector", "value": selector });
        let element = self.post("element", &wanted)?;
        let id = element[ELEMENT].as_str().ok_or("the driver named no element")?;
        self.post(&format!("element/{id}/{command}"), body)
    }

    /// Sends a request and returns the value of the answer, or the error that it describes.
    fn ask(&self, method: Method, path: &str, body: &str, limit: Duration) -> Done<Value> {
        let answer = Request::new(method, format!("http://127.0.0.1:{}{path}", self.port))
            .with_header("Content-Type", "application/json")
            .with_body(body)
            .with_timeout(limit.as_secs())
            .send()
            .map_err(|error| format!("the driver: {error}"))?;
        let text = answer.as_str().map_err(|error| format!("the driver's answer: {error}"))?;
        read((200..300).contains(&answer.status_code), text)
    }
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
