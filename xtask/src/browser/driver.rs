//! A headless Chromium, driven through its own driver program.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::{ParseError, Url};

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

/// A driver program with one browser; both end with it.
pub struct Browser {
    driver: Child,
    client: Client,
}

/// A command of the driver that no standard knows.
#[derive(Debug)]
struct Own {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Own {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

impl Browser {
    /// Starts both.
    pub async fn start() -> Done<Self> {
        let mut driver = Command::new(DRIVER)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{DRIVER}: {error}"))?;
        let port = port(&mut driver);
        let Some(port) = port else {
            let _ = driver.kill();
            let _ = driver.wait();
            return Err(format!("{DRIVER} did not say where it listens"));
        };
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--window-size=1100,1400", "--force-device-scale-factor=1"],
        });
        let wanted = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let Value::Object(wanted) = wanted else { return Err("no capabilities".to_owned()) };
        let address = format!("http://127.0.0.1:{port}");
        match ClientBuilder::new(HttpConnector::new()).capabilities(wanted).connect(&address).await
        {
            Ok(client) => Ok(Self { driver, client }),
            Err(error) => {
                let _ = driver.kill();
                let _ = driver.wait();
                Err(format!("no browser: {error}"))
            }
        }
    }

    /// Ends both.
    pub async fn end(mut self) {
        let _ = self.client.clone().close().await;
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }

    /// Opens an address and waits until it is loaded.
    pub async fn open(&self, address: &str) -> Done<()> {
        self.client.goto(address).await.map_err(|error| format!("{address}: {error}"))
    }

    /// Opens a file.
    pub async fn open_file(&self, path: &Path) -> Done<()> {
        let address = Url::from_file_path(path).map_err(|()| "no absolute path".to_owned())?;
        self.open(address.as_str()).await
    }

    /// What the body of a function returns.
    pub async fn script(&self, body: &str) -> Done<Value> {
        self.client.execute(body, Vec::new()).await.map_err(|error| format!("{error} in {body}"))
    }

    /// A text that a script returns.
    pub async fn text(&self, body: &str) -> Done<String> {
        let value = self.script(body).await?;
        value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no text: {body}"))
    }

    /// A number that a script returns.
    pub async fn number(&self, body: &str) -> Done<f64> {
        let value = self.script(body).await?;
        value.as_f64().ok_or_else(|| format!("{value} is no number: {body}"))
    }

    /// Waits until a script returns something true.
    pub async fn until(&self, body: &str, limit: Duration) -> Done<()> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if self.script(body).await?.as_bool() == Some(true) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("did not become true in {limit:?}: {body}"))
    }

    /// Presses the mouse on the first element that fits.
    pub async fn click(&self, selector: &str) -> Done<()> {
        let element = self.client.find(Locator::Css(selector)).await;
        let element = element.map_err(|error| format!("{selector}: {error}"))?;
        element.click().await.map_err(|error| format!("{selector}: {error}"))
    }

    /// Types a text into the first element that fits.
    pub async fn type_into(&self, selector: &str, text: &str) -> Done<()> {
        let element = self.client.find(Locator::Css(selector)).await;
        let element = element.map_err(|error| format!("{selector}: {error}"))?;
        element.send_keys(text).await.map_err(|error| format!("{selector}: {error}"))
    }

    /// A command of the browser's own protocol.
    pub async fn own(&self, command: &str, parameters: Value) -> Done<Value> {
        let body = json!({ "cmd": command, "params": parameters });
        self.issue("goog/cdp/execute", body).await
    }

    /// Moves the pointer to the middle of the first element that fits.
    pub async fn hover(&self, selector: &str) -> Done<()> {
        let place = self
            .script(&format!(
                "const one = document.querySelector({selector:?});
                 one.scrollIntoView({{block: 'center'}});
                 const box = one.getBoundingClientRect();
                 return [box.x + box.width / 2, box.y + box.height / 2];"
            ))
            .await?;
        let moved = json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
        self.own("Input.dispatchMouseEvent", moved).await.map(drop)
    }

    /// Presses and lets go of a key by its name.
    pub async fn key(&self, key: &str) -> Done<()> {
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
            self.own("Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }

    /// Light or dark, screen or paper.
    pub async fn media(&self, scheme: &str, media: &str) -> Done<()> {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": media, "features": features });
        self.own("Emulation.setEmulatedMedia", media).await.map(drop)
    }

    /// What is to be seen, as PNG.
    pub async fn picture(&self) -> Done<Vec<u8>> {
        self.client.screenshot().await.map_err(|error| error.to_string())
    }

    /// Errors and warnings that the console got since the last call.
    pub async fn complaints(&self) -> Done<Vec<String>> {
        let entries = self.issue("se/log", json!({ "type": "browser" })).await?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let bad = |entry: &&Value| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING"));
        Ok(entries.iter().filter(bad).map(|entry| entry["message"].to_string()).collect())
    }

    /// Addresses that were asked for since the last call.
    pub async fn requests(&self) -> Done<Vec<String>> {
        let entries = self.issue("se/log", json!({ "type": "performance" })).await?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let asked = entries.iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &message["message"];
            (event["method"] == "Network.requestWillBeSent")
                .then(|| event["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        Ok(asked.collect())
    }

    async fn issue(&self, path: &'static str, body: Value) -> Done<Value> {
        let command = Own { path, body };
        self.client.issue_cmd(command).await.map_err(|error| format!("{path}: {error}"))
    }
}

/// The port that a driver says it listens at.
fn port(driver: &mut Child) -> Option<u16> {
    let mut lines = BufReader::new(driver.stdout.take()?).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("successfully on port"))?;
    // The driver goes on printing: somebody has to listen, or it stops at a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    line.trim_end_matches('.').rsplit(' ').next()?.parse().ok()
}
