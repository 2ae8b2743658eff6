//! Who may ask, what may be asked, and what browsers are told to do with the answer.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode, Uri};

use super::query;

/// Bytes of an address that is read.
const LONGEST_ADDRESS: usize = 8192;

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// What an answer may do unless it says otherwise: use what this server serves beside it.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The rules of one server.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// Where it listens.
    pub address: SocketAddr,
    /// What has to be known, where others can reach it.
    pub token: Option<String>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// It is answered.
    Pass,
    /// It brought the token: a cookie is set, and the browser sent to the address without it.
    Admit {
        /// The address without the token.
        to: String,
        cookie: String,
    },
    /// It is refused, with what to do instead.
    Refuse(StatusCode, String),
}

impl Guard {
    /// What becomes of a request.
    pub fn rule(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Ruling {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let text = "Results can only be read here.".to_owned();
            return Ruling::Refuse(StatusCode::METHOD_NOT_ALLOWED, text);
        }
        if uri.to_string().len() > LONGEST_ADDRESS {
            let text = "The address is too long.".to_owned();
            return Ruling::Refuse(StatusCode::URI_TOO_LONG, text);
        }
        let named = uri.authority().map(ToString::to_string);
        let hosts: Vec<_> = headers.get_all(header::HOST).iter().collect();
        let host = match hosts.as_slice() {
            [one] => one.to_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        if ![Some(host), named].iter().flatten().all(|host| self.is_own(host)) {
            let text = format!("Open this by its address: http://{}/", self.shown());
            return Ruling::Refuse(StatusCode::MISDIRECTED_REQUEST, text);
        }
        self.token.as_deref().map_or(Ruling::Pass, |token| self.known(token, uri, headers))
    }

    /// The address as a browser on this machine reaches it.
    pub fn shown(&self) -> SocketAddr {
        let mut shown = self.address;
        if shown.ip().is_unspecified() {
            let loopback: IpAddr = match shown {
                SocketAddr::V4(_) => [127, 0, 0, 1].into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            };
            shown.set_ip(loopback);
        }
        shown
    }

    /// Whether a host is this server: never a name that somebody else could point here.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) {
            return false;
        }
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        match bare.parse::<IpAddr>() {
            Ok(ip) => {
                let own = self.address.ip();
                ip.is_loopback() || ip == own || own.is_unspecified()
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Asks for the token.
    fn known(&self, token: &str, uri: &Uri, headers: &HeaderMap) -> Ruling {
        let name = format!("assay-{}", self.address.port());
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|all| all.to_str().ok());
        let mut cookies = cookies.flat_map(|all| all.split(';')).filter_map(|one| {
            let (own, value) = one.trim().split_once('=')?;
            (own == name).then_some(value)
        });
        let mut pairs = query::pairs(uri.query().unwrap_or_default());
        if query::first(&pairs, "token").is_some_and(|told| same(told, token)) {
            pairs.retain(|(name, _)| name != "token");
            let rest: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{}={}", query::encoded(name), query::encoded(value)))
                .collect();
            let mark = if rest.is_empty() { "" } else { "?" };
            // Two slashes at the beginning would be another host.
            let path = uri.path().trim_start_matches(['/', '\\']);
            let to = format!("/{path}{mark}{}", rest.join("&"));
            let cookie = format!("{name}={token}; HttpOnly; SameSite=Strict; Path=/");
            return Ruling::Admit { to, cookie };
        }
        if cookies.any(|told| same(told, token)) {
            return Ruling::Pass;
        }
        let text = "Open the address with the token that assay serve printed.".to_owned();
        Ruling::Refuse(StatusCode::UNAUTHORIZED, text)
    }
}

/// Compares secrets in a time that tells only their length.
fn same(told: &str, token: &str) -> bool {
    let (told, token) = (told.as_bytes(), token.as_bytes());
    let differs = told.iter().zip(token).fold(0_u8, |bits, (a, b)| black_box(bits | (a ^ b)));
    told.len() == token.len() && black_box(differs) == 0
}

/// Adds what browsers are told of every answer.
pub(super) fn seal(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert_with(|| HeaderValue::from_static(POLICY));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str, token: Option<&str>) -> Guard {
        Guard { address: address.parse().unwrap(), token: token.map(str::to_owned) }
    }

    fn headers(given: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn host(guard: &Guard, host: &str) -> Ruling {
        guard.rule(&Method::GET, &Uri::from_static("/"), &headers(&[(header::HOST, host)]))
    }

    #[test]
    fn only_names_that_nobody_can_point_here_are_answered() {
        let own = guard("127.0.0.1:8642", None);
        for good in ["127.0.0.1:8642", "localhost:8642", "LocalHost:8642", "[::1]:8642"] {
            assert_eq!(host(&own, good), Ruling::Pass, "{good}");
        }
        let bad = [
            "evil.example:8642",
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:8642.evil.example",
            "localhost.evil.example:8642",
            "192.168.1.7:8642",
            "",
            "[::1]",
            "127.0.0.1:8642@evil.example:8642",
        ];
        for bad in bad {
            let Ruling::Refuse(status, text) = host(&own, bad) else { panic!("{bad}") };
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST);
            assert!(text.contains("http://127.0.0.1:8642/"), "{text}");
        }
        let two = headers(&[(header::HOST, "127.0.0.1:8642"), (header::HOST, "evil.example")]);
        let none = HeaderMap::new();
        for headers in [two, none] {
            let ruling = own.rule(&Method::GET, &Uri::from_static("/"), &headers);
            assert!(matches!(ruling, Ruling::Refuse(StatusCode::MISDIRECTED_REQUEST, _)));
        }
        let far = Uri::from_static("http://evil.example:8642/");
        let ruling = own.rule(&Method::GET, &far, &headers(&[(header::HOST, "127.0.0.1:8642")]));
        assert!(matches!(ruling, Ruling::Refuse(StatusCode::MISDIRECTED_REQUEST, _)));
        assert_eq!(host(&guard("127.0.0.1:80", None), "localhost"), Ruling::Pass);
        assert_eq!(host(&guard("0.0.0.0:8642", None), "192.168.1.7:8642"), Ruling::Pass);
        assert_ne!(host(&guard("192.168.1.7:8642", None), "192.168.1.8:8642"), Ruling::Pass);
    }

    #[test]
    fn nothing_but_reading() {
        let own = guard("127.0.0.1:8642", None);
        let headers = headers(&[(header::HOST, "127.0.0.1:8642")]);
        let rule = |method: &Method| own.rule(method, &Uri::from_static("/"), &headers);
        assert_eq!(rule(&Method::HEAD), Ruling::Pass);
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE] {
            let refused = rule(&method);
            assert!(matches!(refused, Ruling::Refuse(StatusCode::METHOD_NOT_ALLOWED, _)));
        }
        let long: Uri = format!("/{}", "x".repeat(LONGEST_ADDRESS)).parse().unwrap();
        let ruling = own.rule(&Method::GET, &long, &headers);
        assert!(matches!(ruling, Ruling::Refuse(StatusCode::URI_TOO_LONG, _)));
    }

    #[test]
    fn where_others_reach_it_a_token_is_asked_for() {
        let open = guard("0.0.0.0:8642", Some("s3cret"));
        let ask = |address: &str, cookie: &str| {
            let given = [(header::HOST, "192.168.1.7:8642"), (header::COOKIE, cookie)];
            open.rule(&Method::GET, &address.parse().unwrap(), &headers(&given))
        };
        let refused = |ruling| matches!(ruling, Ruling::Refuse(StatusCode::UNAUTHORIZED, _));
        for (address, cookie) in [
            ("/", ""),
            ("/?token=", ""),
            ("/?token=s3cre", ""),
            ("/?token=s3crets", ""),
            ("/?token=S3cret", ""),
            ("/", "assay-8642="),
            ("/", "assay-8643=s3cret"),
            ("/", "other=s3cret; assay-8642=s3cre"),
        ] {
            assert!(refused(ask(address, cookie)), "{address} {cookie}");
        }
        assert_eq!(ask("/", "a=b; assay-8642=s3cret"), Ruling::Pass);
        let Ruling::Admit { to, cookie } = ask("//evil.example/x?q=a%20b&token=s3cret", "") else {
            panic!("not let in")
        };
        assert_eq!(to, "/evil.example/x?q=a%20b");
        assert_eq!(cookie, "assay-8642=s3cret; HttpOnly; SameSite=Strict; Path=/");
    }

    #[test]
    fn every_answer_is_sealed_and_keeps_a_policy_of_its_own() {
        let mut sealed = HeaderMap::new();
        seal(&mut sealed);
        assert_eq!(sealed[header::CONTENT_SECURITY_POLICY], POLICY);
        assert!(!POLICY.contains("unsafe"));
        let own = HeaderValue::from_static("default-src 'none'");
        sealed.insert(header::CONTENT_SECURITY_POLICY, own.clone());
        seal(&mut sealed);
        assert_eq!(sealed[header::CONTENT_SECURITY_POLICY], own);
    }
}
