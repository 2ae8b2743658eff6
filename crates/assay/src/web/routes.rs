//! Addresses and what they answer with.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::catalogue::{Catalogue, Search};
use super::guard::{Guard, Ruling, seal};
use super::kept::{Page, Pages};
use super::live::Lives;
use super::readers::Readers;
use super::stamp::{Stamp, stamp};
use super::{find, pages, query};
use crate::store;
use assay_base::failure::{Failure, Kind, Outcome};
use assay_report::evidence::Evidence;
use assay_report::html::{self, Place};
use assay_study::findings::Findings;
use assay_system::system::System;

/// Results that are compared at once at most.
const MOST_COMPARED: usize = 16;

/// What every answer is made with.
#[derive(Clone)]
pub(super) struct Site {
    /// Directory of the results.
    pub results: PathBuf,
    /// Who may ask.
    pub guard: Arc<Guard>,
    /// Who reads bundles.
    pub readers: Readers,
    /// The list.
    pub catalogue: Arc<Catalogue>,
    /// Studies that are watched.
    pub lives: Arc<Lives>,
    /// Pages of results that were made.
    pub pages: Arc<Pages>,
}

/// All addresses.
pub(super) fn router(site: Site) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/result/{id}", get(result))
        .route("/result/{id}/every-trial.csv", get(every_trial))
        .route("/articles", get(articles))
        .route("/compare", get(compare))
        .route("/live/{id}", get(live))
        .route("/live/{id}/events", get(events))
        .route("/assets/{name}", get(asset))
        .fallback(|| async { refused(StatusCode::NOT_FOUND, "There is nothing at this address.") })
        .layer(middleware::from_fn_with_state(site.clone(), guarded))
        .with_state(site)
}

/// Lets through what may be asked, and seals every answer.
async fn guarded(State(site): State<Site>, request: Request, next: Next) -> Response {
    let body = request.headers().get(header::TRANSFER_ENCODING).is_some()
        || request.headers().get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
    let ruling = site.guard.rule(request.method(), request.uri(), request.headers());
    let mut response = match ruling {
        Ruling::Pass if body => refused(StatusCode::PAYLOAD_TOO_LARGE, "Nothing can be sent here."),
        Ruling::Pass => next.run(request).await,
        Ruling::Refuse(status, text) => refused(status, &text),
        Ruling::Admit { to, cookie } => admitted(&to, &cookie),
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    seal(response.headers_mut());
    response
}

fn admitted(to: &str, cookie: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    for (name, value) in [(header::LOCATION, to), (header::SET_COOKIE, cookie)] {
        match HeaderValue::from_str(value) {
            Ok(value) => response.headers_mut().insert(name, value),
            Err(_) => return refused(StatusCode::BAD_REQUEST, "This address has no meaning here."),
        };
    }
    response
}

fn page(status: StatusCode, text: String) -> Response {
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    (status, [(header::CONTENT_TYPE, kind)], text).into_response()
}

fn refused(status: StatusCode, text: &str) -> Response {
    page(status, pages::refusal(status, text))
}

/// A failure as a page.
fn failed(failure: &Failure) -> Response {
    let status = match failure.kind {
        Kind::Mistake => StatusCode::NOT_FOUND,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    refused(status, &failure.message)
}

/// A page or why there is none.
fn page_or_failure(found: Outcome<String>) -> Response {
    found.map_or_else(|failure| failed(&failure), |text| page(StatusCode::OK, text))
}

/// A page of results, which may do only what its own policy says.
fn report(found: Outcome<Arc<Page>>, headers: &HeaderMap) -> Response {
    let page = match found {
        Ok(page) => page,
        Err(failure) => return failed(&failure),
    };
    let mut response = page.answer(headers);
    let policy = format!("{}; frame-ancestors 'none'", html::content_security_policy());
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// The results that a page is made of.
struct PageOf {
    /// What the page is kept as.
    address: String,
    results: PathBuf,
    ids: Vec<String>,
    pages: Arc<Pages>,
}

/// How a page is made of its bundles.
type Make = fn(&dyn System, &[PathBuf]) -> Outcome<String>;

impl PageOf {
    fn of(site: &Site, address: String, ids: Vec<String>) -> Self {
        Self { address, results: site.results.clone(), ids, pages: Arc::clone(&site.pages) }
    }

    fn directories(&self, system: &dyn System) -> Outcome<Vec<PathBuf>> {
        self.ids.iter().map(|id| find::named(system, &self.results, id)).collect()
    }

    /// The page, where it is kept, and how its bundles look.
    fn kept(&self, system: &dyn System) -> Outcome<(Option<Arc<Page>>, Vec<Stamp>)> {
        let directories = self.directories(system)?;
        let stamps: Vec<Stamp> = directories.iter().map(|one| stamp(system, one)).collect();
        Ok((self.pages.find(&self.address, &stamps), stamps))
    }

    /// The page, made where it is not kept. Who asked for the same meanwhile finds it.
    fn made(&self, system: &dyn System, make: Make) -> Outcome<Arc<Page>> {
        let (kept, stamps) = self.kept(system)?;
        if let Some(page) = kept {
            return Ok(page);
        }
        let directories = self.directories(system)?;
        directories.iter().try_for_each(|one| find::plain(system, one))?;
        let text = make(system, &directories)?;
        let kept = self.pages.keep(&self.address, stamps, &text);
        kept.map_err(|error| Failure::refused(format!("the page cannot be kept: {error}")))
    }
}

/// A page that is kept, or is made and kept.
async fn page_of(site: &Site, asked: PageOf, make: Make) -> Outcome<Arc<Page>> {
    let look = site.readers.ask(move |system| asked.kept(system).map(|(page, _)| (page, asked)));
    match look.await?? {
        (Some(page), _) => Ok(page),
        (None, asked) => site.readers.ask_at_length(move |system| asked.made(system, make)).await?,
    }
}

/// The id in an address; what cannot be decoded is none.
fn id(path: Result<Path<String>, PathRejection>) -> String {
    path.map_or_else(|_| String::new(), |Path(id)| id)
}

async fn list(State(site): State<Site>, RawQuery(asked): RawQuery) -> Response {
    let pairs = query::pairs(asked.as_deref().unwrap_or_default());
    let value = |name| query::first(&pairs, name).unwrap_or_default().to_owned();
    let search =
        Search { words: value("q"), kind: value("kind"), page: value("page").parse().unwrap_or(1) };
    let (catalogue, results) = (site.catalogue, site.results);
    let found = site.readers.ask(move |system| {
        pages::list(&catalogue.page(system, &search), &search, &results.display().to_string())
    });
    page_or_failure(found.await)
}

async fn result(
    State(site): State<Site>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    let id = id(path);
    let asked = PageOf::of(&site, format!("result {id}"), vec![id]);
    report(page_of(&site, asked, shown).await, &headers)
}

fn shown(system: &dyn System, directories: &[PathBuf]) -> Outcome<String> {
    let all = directories.iter().map(|directory| store::evidence_at(system, directory));
    Ok(html::pages(&all.collect::<Outcome<Vec<Evidence>>>()?, Place::Served))
}

/// The source articles, judged by their own numbers.
async fn articles(State(site): State<Site>, headers: HeaderMap) -> Response {
    let asked = PageOf::of(&site, "articles".to_owned(), Vec::new());
    report(page_of(&site, asked, judged).await, &headers)
}

fn judged(_: &dyn System, _: &[PathBuf]) -> Outcome<String> {
    let all = assay_claims::articles::judge(&assay_claims::articles::Library::shipped())?;
    let all: Vec<_> = all.iter().collect();
    Ok(html::articles(&all, Place::Served))
}

/// The values of every trial, where a page does not hold them itself.
async fn every_trial(
    State(site): State<Site>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    let id = id(path);
    let asked = PageOf::of(&site, format!("trials {id}"), vec![id]);
    match page_of(&site, asked, values).await {
        Ok(page) => {
            let mut response = page.answer(&headers);
            let kind = HeaderValue::from_static("text/csv; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(failure) => failed(&failure),
    }
}

fn values(system: &dyn System, directories: &[PathBuf]) -> Outcome<String> {
    let values = directories.iter().map(|directory| {
        let evidence = store::evidence_at(system, directory)?;
        store::every_trial(system, &evidence)
    });
    values.collect::<Outcome<Vec<String>>>().map(|all| all.concat())
}

async fn compare(
    State(site): State<Site>,
    RawQuery(asked): RawQuery,
    headers: HeaderMap,
) -> Response {
    let pairs = query::pairs(asked.as_deref().unwrap_or_default());
    let by_date = query::first(&pairs, "order") == Some("date");
    let ids = pairs.into_iter().filter(|(name, _)| name == "id").map(|(_, id)| id);
    let mut ids: Vec<String> = ids.take(MOST_COMPARED + 1).collect();
    if by_date {
        // The list has the newest first; what the others are compared with is the oldest.
        ids.sort_unstable();
    }
    if ids.len() < 2 || ids.len() > MOST_COMPARED {
        let text = format!("Choose two results to compare, or more, up to {MOST_COMPARED}.");
        return refused(StatusCode::BAD_REQUEST, &text);
    }
    let asked = PageOf::of(&site, format!("compare {}", ids.join(" ")), ids);
    report(page_of(&site, asked, compared).await, &headers)
}

fn compared(system: &dyn System, directories: &[PathBuf]) -> Outcome<String> {
    let read = directories.iter().map(|directory| store::findings_at(system, directory));
    let read = read.collect::<Outcome<Vec<Findings>>>()?;
    let days = store::days::apart(system, &read);
    let found = store::compared(&read, days)?;
    // Of most comparisons nothing is drawn but what was found.
    let behind = directories.iter().filter(|_| found.windows.is_some());
    let behind = behind.map(|directory| store::evidence_at(system, directory));
    let behind = behind.collect::<Outcome<Vec<Evidence>>>()?;
    Ok(html::page(&Evidence::compared(found, &behind), Place::Served))
}

async fn live(State(site): State<Site>, path: Result<Path<String>, PathRejection>) -> Response {
    let watching = site.lives.watch(&id(path)).await;
    page_or_failure(watching.and_then(|watching| watching.state()).map(|state| pages::live(&state)))
}

async fn events(
    State(site): State<Site>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(asked): RawQuery,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let watching = match site.lives.watch(&id(path)).await {
        Ok(watching) => watching,
        Err(failure) => return failed(&failure),
    };
    if method == Method::HEAD {
        let kind = HeaderValue::from_static("text/event-stream");
        return ([(header::CONTENT_TYPE, kind)], Body::empty()).into_response();
    }
    // What the browser has heard last counts more than what its page began with.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let pairs = query::pairs(asked.as_deref().unwrap_or_default());
    let begun = query::first(&pairs, "from").and_then(|from| from.parse().ok());
    let known = last.or(begun).unwrap_or(0);
    Sse::new(watching.events(known)).keep_alive(KeepAlive::default()).into_response()
}

async fn asset(path: Result<Path<String>, PathRejection>) -> Response {
    let (kind, text) = match id(path).as_str() {
        "page.css" => {
            ("text/css", format!("{}\n{}", html::style(), include_str!("assets/web.css")))
        }
        "live.js" => ("text/javascript", include_str!("assets/live.js").to_owned()),
        "list.js" => ("text/javascript", include_str!("assets/list.js").to_owned()),
        _ => return refused(StatusCode::NOT_FOUND, "There is nothing at this address."),
    };
    let kind = HeaderValue::from_str(&format!("{kind}; charset=utf-8"));
    let mut response = text.into_response();
    if let Ok(kind) = kind {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}
