//! Files: Slack's way of uploading in three steps, people's files, and where the bytes are to be had.
//!
//! What it promises: a file's bytes go to a page of this workspace and to an app with the right token; everybody else
//! gets what Slack gives them, a page that asks to sign in, with status 200. What a person sends may be anything, so only
//! pictures are ever shown in place.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::blocks::{Surface, accept};
use super::hub::Hub;
use super::message::{File, Message};
use super::messages::{refuse, thread_in};
use super::methods::{Args, int_arg, place_to_write, str_arg};
use super::web_api::{Answer, bearer};
use super::world::Change;

/// The largest file, in bytes; Slack's own limit is a gigabyte.
pub(crate) const FILE_BYTES: usize = 10 * 1024 * 1024;

/// A file that is announced and perhaps already there.
#[derive(Clone, Debug)]
pub(super) struct Upload {
    id: String,
    name: String,
    length: usize,
    bytes: Option<Bytes>,
}

/// Where the bytes of announced files go, and where those of all files come from.
pub(super) fn uploads(hub: Arc<Hub>) -> Router {
    let limit = DefaultBodyLimit::max(FILE_BYTES + 64 * 1024);
    Router::new().route("/upload/{secret}", post(take)).layer(limit).with_state(hub)
}

pub(super) fn downloads(hub: Arc<Hub>) -> Router {
    Router::new().route("/files/{id}/{name}", get(give)).with_state(hub)
}

pub(super) fn upload_url(hub: &Arc<Hub>, args: &Args) -> Answer {
    let name = str_arg(args, "filename").filter(|n| !n.is_empty()).ok_or("invalid_arguments")?.to_owned();
    let length = int_arg(args, "length").filter(|n| *n > 0).ok_or("invalid_arguments")?;
    if length > FILE_BYTES {
        return Err("file_upload_size_restricted".into());
    }
    let (id, secret) = {
        let mut world = hub.world();
        (world.new_id("F"), hub.handle(&mut world))
    };
    let url = format!("{}/upload/{secret}", hub.base);
    hub.uploads().insert(secret, Upload { id: id.clone(), name, length, bytes: None });
    Ok(json!({"upload_url": url, "file_id": id}))
}

async fn take(State(hub): State<Arc<Hub>>, Path(secret): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    let bytes = match kind.strip_prefix("multipart/form-data") {
        Some(rest) => match rest.split_once("boundary=").and_then(|(_, b)| first_part(&body, b.trim_matches('"'))) {
            Some(part) => part,
            None => return (StatusCode::BAD_REQUEST, "no file in the form").into_response(),
        },
        None => body,
    };
    let mut uploads = hub.uploads();
    let Some(upload) = uploads.get_mut(&secret) else { return StatusCode::NOT_FOUND.into_response() };
    if bytes.len() != upload.length {
        return (StatusCode::BAD_REQUEST, "not the length that was announced").into_response();
    }
    upload.bytes = Some(bytes);
    format!("OK - {}", upload.length).into_response()
}

/// The content of a form's first part.
fn first_part(body: &Bytes, boundary: &str) -> Option<Bytes> {
    let find = |needle: &[u8], from: usize| {
        body.get(from..)?.windows(needle.len()).position(|w| w == needle).map(|at| at + from)
    };
    let begin = find(b"\r\n\r\n", 0)? + 4;
    let end = find(format!("\r\n--{boundary}").as_bytes(), begin)?;
    Some(body.slice(begin..end))
}

pub(super) fn complete(hub: &Arc<Hub>, args: &Args) -> Answer {
    let files = match args.get("files") {
        Some(Value::Array(list)) if !list.is_empty() => list.clone(),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| "invalid_arguments")?,
        _ => return Err("invalid_arguments".into()),
    };
    let place = match args.contains_key("channel_id") {
        true => Some(place_to_write(hub, args, "channel_id")?),
        false => None,
    };
    let thread_ts = match &place {
        Some(channel) => thread_in(&hub.world(), channel, args)?,
        None => None,
    };
    let comment = str_arg(args, "initial_comment").unwrap_or("").to_owned();
    let blocks = match args.get("blocks").filter(|_| comment.is_empty()) {
        Some(blocks) => Some(accept(blocks, Surface::Message, || hub.world().next_id()).map_err(refuse)?),
        None => None,
    };
    let mut done = Vec::new();
    for file in &files {
        let id = file.get("id").and_then(Value::as_str).unwrap_or("");
        let mut uploads = hub.uploads();
        let found = uploads.iter().find(|(_, u)| u.id == id && u.bytes.is_some()).map(|(secret, _)| secret.clone());
        let upload = found.and_then(|secret| uploads.remove(&secret)).ok_or("file_not_found")?;
        drop(uploads);
        let title = file.get("title").and_then(Value::as_str).unwrap_or(&upload.name).to_owned();
        done.push(hub.keep(upload.id, &upload.name, &title, &upload.bytes.unwrap_or_default()));
    }
    let shown: Vec<Value> = done.iter().map(described).collect();
    if let Some(channel) = place {
        let (user, bot_id) = {
            let world = hub.world();
            (world.bot.user.clone(), world.bot.bot_id.clone())
        };
        let message = Message::blank(channel.id, user);
        hub.post(Message { bot_id: Some(bot_id), thread_ts, text: comment, blocks, files: done, ..message });
    }
    Ok(json!({"files": shown}))
}

pub(super) fn info(hub: &Arc<Hub>, args: &Args) -> Answer {
    let world = hub.world();
    let (file, _) = world.file(str_arg(args, "file").unwrap_or("")).ok_or("file_not_found")?;
    Ok(json!({"file": described(file)}))
}

/// A file as payloads describe it.
pub(super) fn described(file: &File) -> Value {
    json!({
        "id": file.id, "name": file.name, "title": file.title, "mimetype": file.mimetype, "size": file.size,
        "filetype": file.name.rsplit_once('.').map_or("text", |(_, end)| end), "mode": "hosted",
        "url_private": file.url_private, "url_private_download": file.url_private, "is_external": false,
        "is_public": false,
    })
}

impl Hub {
    /// Keeps a file's bytes from now on.
    pub(super) fn keep(&self, id: String, name: &str, title: &str, bytes: &Bytes) -> File {
        let safe: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let file = File {
            url_private: format!("{}/files/{id}/{safe}", self.base),
            id,
            name: name.to_owned(),
            title: title.to_owned(),
            mimetype: mimetype(name).to_owned(),
            size: bytes.len(),
        };
        let change = Change::Filed { file: file.clone(), data: STANDARD.encode(bytes) };
        self.commit(&mut self.world(), change);
        file
    }
}

fn mimetype(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("txt" | "md" | "log") => "text/plain",
        Some("xlsx") => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "application/octet-stream",
    }
}

async fn give(State(hub): State<Arc<Hub>>, Path((id, _)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let site = headers.get("sec-fetch-site").and_then(|v| v.to_str().ok());
    let may = match bearer(&headers) {
        Some(token) => {
            token == hub.settings.bot_token.reveal() && hub.settings.scopes.iter().any(|s| s == "files:read")
        }
        // A browser says where a request comes from, and a script cannot make it lie.
        None => matches!(site, Some("same-origin" | "none")),
    };
    if !may {
        return ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], "<!DOCTYPE html><title>Sign in</title>")
            .into_response();
    }
    let found = hub.world().file(&id).map(|(file, data)| (file.clone(), STANDARD.decode(data).unwrap_or_default()));
    let Some((file, bytes)) = found else { return StatusCode::NOT_FOUND.into_response() };
    let shown = if file.mimetype.starts_with("image/") { "inline" } else { "attachment" };
    let headers = [
        (header::CONTENT_TYPE, file.mimetype.as_str()),
        (header::CONTENT_DISPOSITION, shown),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::CACHE_CONTROL, "private, max-age=3600"),
    ];
    (headers, bytes).into_response()
}
