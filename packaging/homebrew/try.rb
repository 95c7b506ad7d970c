# Installs the formula without Homebrew: `ruby try.rb FORMULA ARCHIVE PREFIX` evaluates it with the
# few methods it uses, compares the checksum, and runs its `install` and `test` below PREFIX.
require "digest"
require "fileutils"
require "pathname"

FORMULA, ARCHIVE, PREFIX = ARGV.map { |path| Pathname(File.expand_path(path)) }

# A directory that files are installed into.
class Directory < Pathname
  def install(file)
    FileUtils.mkdir_p(self)
    FileUtils.cp(file, self, preserve: true)
  end
end

# The part of Homebrew's interface that the formula uses.
class Formula
  class << self
    attr_reader :tested

    %i[desc homepage license depends_on].each { |name| define_method(name) { |*, **| nil } }
    %i[url sha256 version].each do |name|
      define_method(name) do |value = nil|
        value.nil? ? instance_variable_get("@#{name}") : instance_variable_set("@#{name}", value)
      end
    end

    def on_linux = yield
    def on_intel = yield

    def test(&block) = @tested = block
  end

  def version = self.class.version
  def bin = Directory.new(PREFIX/"bin")
  def man1 = Directory.new(PREFIX/"share/man/man1")
  def bash_completion = Directory.new(PREFIX/"etc/bash_completion.d")
  def zsh_completion = Directory.new(PREFIX/"share/zsh/site-functions")
  def fish_completion = Directory.new(PREFIX/"share/fish/vendor_completions.d")
  def system(*words) = Kernel.system(*words.map(&:to_s)) || abort("#{words.join(" ")} failed")

  def shell_output(line)
    output = `#{line}`
    $?.success? ? output : abort("#{line} failed")
  end

  def assert_match(expected, actual)
    actual.include?(expected) || abort("#{actual.inspect} does not contain #{expected.inspect}")
  end
end

load FORMULA.to_s
File.basename(Tramline.url) == ARCHIVE.basename.to_s || abort("the formula's address is #{Tramline.url}")
Digest::SHA256.file(ARCHIVE).hexdigest == Tramline.sha256 || abort("the formula's checksum is wrong")

unpacked = PREFIX/"unpacked"
FileUtils.mkdir_p(unpacked)
Kernel.system("tar", "-xzf", ARCHIVE.to_s, "-C", unpacked.to_s, "--strip-components=1") || abort("cannot unpack")
formula = Tramline.new
Dir.chdir(unpacked) { formula.install }
scratch = PREFIX/"test"
FileUtils.mkdir_p(scratch)
Dir.chdir(scratch) { formula.instance_eval(&Tramline.tested) }
