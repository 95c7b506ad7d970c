# Written by `cargo xtask release` from packaging/homebrew/tramline.rb.
class Tramline < Formula
  desc "Durable workflows for AI agents, built from MCP tools"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]

  on_linux do
    on_intel do
      url "@RELEASES@/@ARCHIVE@"
      sha256 "@ARCHIVE_SHA256@"
    end
  end

  depends_on :linux

  def install
    bin.install "bin/tramline"
    man1.install "share/man/man1/tramline.1"
    bash_completion.install "share/bash-completion/completions/tramline"
    zsh_completion.install "share/zsh/site-functions/_tramline"
    fish_completion.install "share/fish/vendor_completions.d/tramline.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tramline --version")
    system bin/"tramline", "init", "hello"
    assert_match "Hello, Ada!", shell_output("#{bin}/tramline run hello/hello.yaml name=Ada")
  end
end
