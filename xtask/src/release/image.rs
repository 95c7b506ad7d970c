//! The container image: the binary and the few files it needs from Debian's packages.

use super::trial::{self, Installed};
use super::{ReleaseContext, files, process, tools};
use crate::paths;
use anyhow::{Context, Result, bail};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The packages that files are taken from.
const PACKAGES: [&str; 4] = ["libc6", "libgcc-s1", "ca-certificates", "busybox"];
/// The libraries that the programs need.
const LIBRARIES: [&str; 5] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    // Of busybox.
    "libresolv.so.2",
];
const LIBRARY_DIR: &str = "lib/x86_64-linux-gnu";
/// The user of the image; it has no name on the host.
const USER: &str = "65532:65532";
const TAG: &str = "localhost/tramline:release";

fn path(context: &ReleaseContext) -> PathBuf {
    context
        .dist
        .join(format!("tramline-{}-image.tar", context.version))
}

/// `buildah` with a storage of its own and no need for overlays or namespaces.
fn buildah(context: &ReleaseContext) -> std::process::Command {
    let storage = context.work.join("image-storage");
    let mut command = process::command("buildah");
    command.arg("--storage-driver=vfs");
    command.arg("--root").arg(storage.join("root"));
    command.arg("--runroot").arg(storage.join("run"));
    command.env("BUILDAH_ISOLATION", "chroot");
    command
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let stage = files::fresh(&context.work.join("image"))?;
    let dockerfile = stage.join("Dockerfile");
    files::write(
        &dockerfile,
        files::template(context, "docker/Dockerfile", &[])?,
        0o644,
    )?;
    process::output(process::command(tools::python("hadolint")?).arg(&dockerfile))?;
    tools::debian("buildah")?;
    root_files(context, &stage)?;
    files::set_times(&stage, context.epoch)?;
    let mut bud = buildah(context);
    // Only this format knows health checks.
    bud.args([
        "build",
        "--format=docker",
        "--tag",
        TAG,
        "--timestamp",
        &context.epoch.to_string(),
    ]);
    bud.args(["--build-arg", &format!("VERSION={}", context.version)]);
    bud.args(["--build-arg", &format!("REPOSITORY={}", context.repository)]);
    process::output(bud.arg("--file").arg(&dockerfile).arg(&stage))?;
    let path = path(context);
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let to = format!(
        "docker-archive:{}:tramline:{}",
        path.display(),
        context.version
    );
    process::output(buildah(context).args(["push", "--quiet", TAG, &to]))?;
    process::output(process::command("gzip").args(["-n", "--force"]).arg(&path))?;
    Ok(vec![path.with_extension("tar.gz")])
}

/// Writes the root of the image and the owner's directory next to the Dockerfile.
fn root_files(context: &ReleaseContext, stage: &Path) -> Result<()> {
    let from = files::fresh(&context.work.join("image-packages"))?;
    let mut download = process::command("apt-get");
    process::output(
        download
            .args(["download", "--quiet"])
            .args(PACKAGES)
            .current_dir(&from),
    )?;
    let unpacked = from.join("unpacked");
    for deb in paths::files(&from, "deb")? {
        process::output(
            process::command("dpkg-deb")
                .arg("-x")
                .arg(deb)
                .arg(&unpacked),
        )?;
    }
    let root = stage.join("rootfs");
    for name in LIBRARIES {
        files::copy(
            &unpacked.join(LIBRARY_DIR).join(name),
            &root.join(LIBRARY_DIR).join(name),
            0o755,
        )?;
    }
    let loader = unpacked.join(LIBRARY_DIR).join("ld-linux-x86-64.so.2");
    files::copy(&loader, &root.join("lib64/ld-linux-x86-64.so.2"), 0o755)?;
    // Started under this name, busybox is only wget.
    files::copy(
        &unpacked.join("bin/busybox"),
        &root.join("usr/bin/wget"),
        0o755,
    )?;
    files::copy(&context.binary, &root.join("usr/bin/tramline"), 0o755)?;
    let mut certificates = String::new();
    for file in paths::files(&unpacked.join("usr/share/ca-certificates/mozilla"), "crt")? {
        certificates.push_str(paths::read(&file)?.trim_end());
        certificates.push('\n');
    }
    files::write(
        &root.join("etc/ssl/certs/ca-certificates.crt"),
        certificates,
        0o644,
    )?;
    files::write(
        &root.join("etc/passwd"),
        "tramline:x:65532:65532::/data:/nonexistent\n",
        0o644,
    )?;
    files::write(&root.join("etc/group"), "tramline:x:65532:\n", 0o644)?;
    files::write(&root.join("etc/nsswitch.conf"), "hosts: files dns\n", 0o644)?;
    for name in PACKAGES {
        let copyright = format!("usr/share/doc/{name}/copyright");
        let source = fs::canonicalize(unpacked.join(&copyright)).or_else(|_| {
            // libgcc-s1 links its documents to those of gcc-12-base.
            fs::canonicalize(Path::new("/").join(&copyright))
        });
        files::copy(
            &source.with_context(|| copyright.clone())?,
            &root.join(&copyright),
            0o644,
        )?;
    }
    files::licences(&root.join("usr/share/doc/tramline"))?;
    // Mount points, which an engine cannot create below a read-only root.
    for name in ["dev", "proc", "sys", "tmp"] {
        fs::create_dir_all(root.join(name))?;
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    files::write(&stage.join("data/files/.keep"), "", 0o644)
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let inspected = process::output(buildah(context).args(["inspect", "--type=image", TAG]))?;
    let inspected: serde_json::Value = serde_json::from_str(&inspected)?;
    let config = &inspected["Docker"]["config"];
    if config["User"] != USER || config["Healthcheck"]["Test"][0] != "CMD" {
        bail!("the image has the wrong user or no health check: {config}");
    }
    let container = process::output(buildah(context).args(["from", TAG]))?;
    let root = process::output(buildah(context).args(["mount", container.trim()]))?;
    // A namespace of mounts with a read-only root and writable /data, as a container engine sets up.
    let script = "set -e; root=$1; shift; mount --bind \"$root\" \"$root\"; \
                  mount --bind \"$root/data\" \"$root/data\"; mount --rbind /proc \"$root/proc\"; \
                  mount --rbind /dev \"$root/dev\"; mount -o remount,ro,bind \"$root\"; \
                  exec chroot --userspec=65532:65532 \"$root\" \"$@\"";
    let words = ["unshare", "--mount", "sh", "-c", script, "sh", root.trim()];
    let home = trial::home(&context.work, "image-home")?;
    let variables = [("HOME", "/data"), ("TRAMLINE_DATA_DIR", "/data/runs")];
    let inside = |program: &[&str]| Installed {
        words: words
            .iter()
            .chain(program)
            .map(|word| (*word).to_owned())
            .collect(),
        home: home.clone(),
        env: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    };
    let installed = inside(&["/usr/bin/tramline"]);
    let printed = process::output(&mut installed.command(&["--version"]))?;
    if printed.trim() != format!("tramline {}", context.version) {
        bail!("--version printed {:?}", printed.trim());
    }
    process::output(&mut installed.command(&["init", "hello", "/data/files/hello"]))?;
    let run = ["run", "/data/files/hello/hello.yaml", "name=Ada"];
    let printed = process::output(&mut installed.command(&run))?;
    if !printed.contains("Hello, Ada!") {
        bail!("`run` printed {printed:?}");
    }
    let refused = installed.code(&["init", "hello", "/usr/hello"])?;
    if refused == Some(0) {
        bail!("the root of the image can be written");
    }
    let tools = installed.served_tools(&["serve", "/data/files/hello/hello.yaml"])?;
    if tools != ["hello"] {
        bail!("tools/list returned {tools:?}");
    }
    try_health_check(config, &installed, &inside(&[]))?;
    Ok("hadolint; as user 65532 with a read-only root: version, init, run, tools/list, health check".to_owned())
}

/// Runs the image's health check before a server is there, and while it is.
fn try_health_check(
    config: &serde_json::Value,
    server: &Installed,
    shell: &Installed,
) -> Result<()> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let words = config["Healthcheck"]["Test"].as_array();
    let words = words.context("no health check")?.iter().skip(1);
    let words = words.map(|word| word.as_str().unwrap_or_default());
    // The image's port may be in use on this machine.
    let words: Vec<_> = words
        .map(|word| word.replace(":8080", &format!(":{port}")))
        .collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    if shell.code(&words)? != Some(1) {
        bail!("the health check does not fail without a server");
    }
    let address = format!("127.0.0.1:{port}");
    let _server = server.serve_http(
        &["serve", "--http", &address, "--toolsets", "library"],
        &address,
    )?;
    match shell.code(&words)? {
        Some(0) => Ok(()),
        code => bail!("the health check ended with {code:?} while the server was running"),
    }
}
