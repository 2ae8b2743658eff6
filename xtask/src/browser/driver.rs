//! A headless Chromium, controlled by chromedriver.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};

use super::need;
use super::webdriver::{Client, LAST_LIMIT};
use crate::lab::{Done, has};

const DRIVER: &str = "chromedriver";
const BROWSERS: [&str; 2] = ["chromium", "chromium-browser"];
/// Narrower windows are phones, pixels.
const DESK: u32 = 500;

/// Returns the missing program, if any.
pub fn missing() -> Option<String> {
    if !has(DRIVER) {
        return Some(format!("{DRIVER} not found (Debian package chromium-driver)"));
    }
    let found = BROWSERS.iter().any(|name| has(name));
    (!found).then(|| "chromium not found".to_owned())
}

/// A chromedriver with one browser; dropping this value ends both.
pub struct Browser {
    client: Client,
    driver: Child,
    process: Option<OwnedFd>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let asked = self.client.shut_down();
        let start = Instant::now();
        while asked.is_ok()
            && start.elapsed() < LAST_LIMIT
            && matches!(self.driver.try_wait(), Ok(None))
        {
            thread::sleep(Duration::from_millis(10));
        }
        // If the driver hangs or has died, the browser is still running.
        if let Some(process) = &self.process {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// Starts both; they store their files in a folder.
    pub fn start(folder: &Path) -> Done<Self> {
        let mut driver = Command::new(DRIVER)
            .arg("--port=0")
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{DRIVER}: {error}"))?;
        let port = port(&mut driver);
        // From here on, dropping the browser ends the driver.
        let mut browser =
            Self { client: Client::new(port.unwrap_or_default()), driver, process: None };
        need(port.is_some(), || format!("{DRIVER} printed no port"))?;
        let chromium = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--window-size=1100,1400", "--force-device-scale-factor=1"],
        });
        let options = json!({
            "goog:chromeOptions": chromium,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let started = browser.client.start(&options);
        browser.process = process(&started.map_err(|error| format!("no browser: {error}"))?);
        Ok(browser)
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&self, address: &str) -> Done<()> {
        let opened = self.client.post("url", &json!({ "url": address }));
        opened.map(drop).map_err(|error| format!("{address}: {error}"))
    }

    pub fn open_file(&self, path: &Path) -> Done<()> {
        self.open(&address_of(path)?)
    }

    /// Runs the body of a function and returns its result.
    pub fn script(&self, body: &str) -> Done<Value> {
        let returned = self.client.post("execute/sync", &json!({ "script": body, "args": [] }));
        returned.map_err(|error| format!("{error} in {body}"))
    }

    /// Runs a script that returns a text.
    pub fn text(&self, body: &str) -> Done<String> {
        let value = self.script(body)?;
        value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is not a string: {body}"))
    }

    /// Runs a script that returns a number.
    pub fn number(&self, body: &str) -> Done<f64> {
        let value = self.script(body)?;
        value.as_f64().ok_or_else(|| format!("{value} is not a number: {body}"))
    }

    /// Waits until a script returns true.
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

    /// Clicks the first element that matches.
    pub fn click(&self, selector: &str) -> Done<()> {
        self.element(selector, "click", &json!({}))
    }

    /// Types a text into the first element that matches.
    pub fn type_into(&self, selector: &str, text: &str) -> Done<()> {
        self.element(selector, "value", &json!({ "text": text }))
    }

    fn element(&self, selector: &str, command: &str, body: &Value) -> Done<()> {
        let done = self.client.post_to(selector, command, body);
        done.map(drop).map_err(|error| format!("{selector}: {error}"))
    }

    /// Runs a command of the Chrome DevTools protocol.
    pub fn protocol(&self, command: &str, parameters: &Value) -> Done<Value> {
        let body = json!({ "cmd": command, "params": parameters });
        let done = self.client.post("goog/cdp/execute", &body);
        done.map_err(|error| format!("{command}: {error}"))
    }

    /// Moves the pointer to the middle of the first element that matches.
    pub fn hover(&self, selector: &str) -> Done<()> {
        let place = self.script(&format!(
            "const one = document.querySelector({selector:?});
             one.scrollIntoView({{block: 'center'}});
             const box = one.getBoundingClientRect();
             return [box.x + box.width / 2, box.y + box.height / 2];"
        ))?;
        let moved = json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
        self.protocol("Input.dispatchMouseEvent", &moved).map(drop)
    }

    pub fn key(&self, key: &str) -> Done<()> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            " " => (32, " "),
            "Tab" => (9, ""),
            "ArrowRight" => (39, ""),
            _ => return Err(format!("unknown key {key}")),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.protocol("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Sets the color scheme (light, dark) and the medium (screen, print).
    pub fn media(&self, scheme: &str, media: &str) -> Done<()> {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": media, "features": features });
        self.protocol("Emulation.setEmulatedMedia", &media).map(drop)
    }

    /// Sets the width of the window.
    pub fn at_width(&self, pixels: u32) -> Done<()> {
        let mobile = pixels < DESK;
        let size =
            json!({ "width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": mobile });
        self.protocol("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    pub fn at_own_width(&self) -> Done<()> {
        self.protocol("Emulation.clearDeviceMetricsOverride", &json!({})).map(drop)
    }

    /// Returns a PNG of the top of the page, at most `max_height` pixels high.
    pub fn page(&self, pixels: u32, max_height: f64) -> Done<Vec<u8>> {
        let height = self.number("return document.documentElement.scrollHeight")?;
        let height = height.min(max_height);
        let clip = json!({ "x": 0, "y": 0, "width": pixels, "height": height, "scale": 1 });
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let taken = self.protocol("Page.captureScreenshot", &wanted)?;
        let data = taken["data"].as_str().ok_or("the browser took no picture")?;
        STANDARD.decode(data).map_err(|error| format!("the picture: {error}"))
    }

    /// Returns errors and warnings on the console since the last call.
    pub fn complaints(&self) -> Done<Vec<String>> {
        let entries = self.log("browser")?;
        let bad = |entry: &&Value| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING"));
        Ok(entries.iter().filter(bad).map(|entry| entry["message"].to_string()).collect())
    }

    /// Returns requested addresses since the last call.
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

    /// Returns entries of a log since the last call.
    fn log(&self, kind: &str) -> Done<Vec<Value>> {
        match self.client.post("se/log", &json!({ "type": kind }))? {
            Value::Array(entries) => Ok(entries),
            other => Err(format!("{other} is not a {kind} log")),
        }
    }
}

/// Reads the port of a driver from its output.
fn port(driver: &mut Child) -> Option<u16> {
    let mut lines = BufReader::new(driver.stdout.take()?).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("successfully on port"))?;
    // The driver continues to print, and would stop at a full pipe.
    thread::spawn(move || lines.for_each(drop));
    line.trim_end_matches('.').rsplit(' ').next()?.parse().ok()
}

/// Opens the process of a browser with these capabilities; the descriptor never refers to a later process.
fn process(capabilities: &Value) -> Option<OwnedFd> {
    let id = capabilities["goog:processID"].as_i64()?.try_into().ok()?;
    pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()
}

pub fn address_of(path: &Path) -> Done<String> {
    need(path.is_absolute(), || format!("{} is not an absolute path", path.display()))?;
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
