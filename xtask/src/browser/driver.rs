//! A headless Chromium, driven through its own driver program.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::need;
use super::webdriver::Session;
use crate::lab::{Done, has};

const DRIVER: &str = "chromedriver";
const BROWSERS: [&str; 2] = ["chromium", "chromium-browser"];

/// What is missing for a browser; none where it is all there.
pub fn missing() -> Option<String> {
    if !has(DRIVER) {
        return Some(format!("there is no {DRIVER} (Debian: chromium-driver)"));
    }
    let found = BROWSERS.iter().any(|name| has(name));
    (!found).then(|| "there is no chromium".to_owned())
}

/// A browser and the driver program that started it; both end with it.
pub struct Browser {
    // Dropped in this order: only a driver that still runs can close its browser.
    session: Session,
    _driver: Driver,
}

/// A driver program.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Driver {
    /// Starts one and tells the port where it listens.
    fn start() -> Done<(Self, u16)> {
        let child = Command::new(DRIVER)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = Self(child.map_err(|error| format!("{DRIVER}: {error}"))?);
        let port = driver.port().ok_or_else(|| format!("{DRIVER} did not say where it listens"))?;
        Ok((driver, port))
    }

    fn port(&mut self) -> Option<u16> {
        let mut lines = BufReader::new(self.0.stdout.take()?).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("successfully on port"))?;
        // The driver goes on printing: somebody has to listen, or it stops at a full pipe.
        thread::spawn(move || lines.for_each(drop));
        line.trim_end_matches('.').rsplit(' ').next()?.parse().ok()
    }
}

impl Browser {
    /// Starts both.
    pub fn start() -> Done<Self> {
        let (driver, port) = Driver::start()?;
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--window-size=1100,1400", "--force-device-scale-factor=1"],
        });
        let wanted = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let session =
            Session::start(port, &wanted).map_err(|error| format!("no browser: {error}"))?;
        Ok(Self { session, _driver: driver })
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&self, address: &str) -> Done<()> {
        let opened = self.session.post("url", &json!({ "url": address }));
        opened.map(drop).map_err(|error| format!("{address}: {error}"))
    }

    /// Opens a file.
    pub fn open_file(&self, path: &Path) -> Done<()> {
        self.open(&address_of(path)?)
    }

    /// What the body of a function returns.
    pub fn script(&self, body: &str) -> Done<Value> {
        let returned = self.session.post("execute/sync", &json!({ "script": body, "args": [] }));
        returned.map_err(|error| format!("{error} in {body}"))
    }

    /// A text that a script returns.
    pub fn text(&self, body: &str) -> Done<String> {
        let value = self.script(body)?;
        value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no text: {body}"))
    }

    /// A number that a script returns.
    pub fn number(&self, body: &str) -> Done<f64> {
        let value = self.script(body)?;
        value.as_f64().ok_or_else(|| format!("{value} is no number: {body}"))
    }

    /// Waits until a script returns something true.
    pub fn until(&self, body: &str, limit: Duration) -> Done<()> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if self.script(body)?.as_bool() == Some(true) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("did not become true in {limit:?}: {body}"))
    }

    /// Presses the mouse on the first element that fits.
    pub fn click(&self, selector: &str) -> Done<()> {
        self.element(selector, "click", &json!({}))
    }

    /// Types a text into the first element that fits.
    pub fn type_into(&self, selector: &str, text: &str) -> Done<()> {
        self.element(selector, "value", &json!({ "text": text }))
    }

    fn element(&self, selector: &str, command: &str, body: &Value) -> Done<()> {
        let done = self.session.post_to(selector, command, body);
        done.map(drop).map_err(|error| format!("{selector}: {error}"))
    }

    /// A command of the browser's own protocol.
    pub fn own(&self, command: &str, parameters: &Value) -> Done<Value> {
        let body = json!({ "cmd": command, "params": parameters });
        let done = self.session.post("goog/cdp/execute", &body);
        done.map_err(|error| format!("{command}: {error}"))
    }

    /// Moves the pointer to the middle of the first element that fits.
    pub fn hover(&self, selector: &str) -> Done<()> {
        let place = self.script(&format!(
            "const one = document.querySelector({selector:?});
             one.scrollIntoView({{block: 'center'}});
             const box = one.getBoundingClientRect();
             return [box.x + box.width / 2, box.y + box.height / 2];"
        ))?;
        let moved = json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
        self.own("Input.dispatchMouseEvent", &moved).map(drop)
    }

    /// Presses and lets go of a key by its name.
    pub fn key(&self, key: &str) -> Done<()> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            " " => (32, " "),
            "Tab" => (9, ""),
            "ArrowRight" => (39, ""),
            _ => return Err(format!("the key {key} is not known here")),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.own("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Light or dark, screen or paper.
    pub fn media(&self, scheme: &str, media: &str) -> Done<()> {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": media, "features": features });
        self.own("Emulation.setEmulatedMedia", &media).map(drop)
    }

    /// What is to be seen: a PNG, written in base64.
    pub fn picture(&self) -> Done<String> {
        match self.session.get("screenshot")? {
            Value::String(picture) => Ok(picture),
            other => Err(format!("{other} is no picture")),
        }
    }

    /// Errors and warnings that the console got since the last call.
    pub fn complaints(&self) -> Done<Vec<String>> {
        let entries = self.log("browser")?;
        let bad = |entry: &&Value| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING"));
        Ok(entries.iter().filter(bad).map(|entry| entry["message"].to_string()).collect())
    }

    /// Addresses that were asked for since the last call.
    pub fn requests(&self) -> Done<Vec<String>> {
        let entries = self.log("performance")?;
        let asked = entries.iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &message["message"];
            (event["method"] == "Network.requestWillBeSent")
                .then(|| event["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        Ok(asked.collect())
    }

    /// What a log got since the last call.
    fn log(&self, kind: &str) -> Done<Vec<Value>> {
        match self.session.post("se/log", &json!({ "type": kind }))? {
            Value::Array(entries) => Ok(entries),
            other => Err(format!("{other} is no log of the {kind}")),
        }
    }
}

/// The address of a file.
pub fn address_of(path: &Path) -> Done<String> {
    need(path.is_absolute(), || format!("{} does not begin at the root", path.display()))?;
    let mut address = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_file_is_that_of_no_other() {
        let address = |path: &str| address_of(Path::new(path));
        assert_eq!(address("/tmp/a-b_c~1.html"), Ok("file:///tmp/a-b_c~1.html".to_owned()));
        assert_eq!(address("/a b/ü#?%.html"), Ok("file:///a%20b/%C3%BC%23%3F%25.html".to_owned()));
        assert!(address("page.html").is_err());
    }
}
