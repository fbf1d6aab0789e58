// Command linux builds Berth's deb and rpm from a static binary.
//
//	linux -version v1.2.3 -arch amd64 -binary FILE -date 2026-01-02T03:04:05Z -out DIR
//
// Run it in packaging/linux. The program of -docs-from, by default the binary, writes the manual pages and the
// completion scripts, so it must run on this machine. Equal binaries and flags give equal packages.
package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format

	"github.com/berthproject/berth/packaging/sbom"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "linux:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("linux", flag.ContinueOnError)
	version := flags.String("version", "devel", "version of the binary")
	arch := flags.String("arch", "amd64", "architecture of the binary, as in GOARCH")
	binary := flags.String("binary", "", "the binary")
	docs := flags.String("docs-from", "", "binary that runs on this machine (default: -binary)")
	date := flags.String("date", "1970-01-01T00:00:00Z", "time of the files, in RFC 3339")
	out := flags.String("out", ".", "directory for the packages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *binary == "" {
		return errors.New("-binary is required")
	}
	created, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	dir, err := os.MkdirTemp("", "berth-packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeDocs(dir, cmp.Or(*docs, *binary)); err != nil {
		return err
	}
	if err := writeSBOM(filepath.Join(dir, "sbom.json"), *binary, *version, created); err != nil {
		return err
	}
	variables := map[string]string{
		"ARCH": *arch, "VERSION": packageVersion(*version), "BINARY": *binary, "DOCS": dir, "SBOM": filepath.Join(dir, "sbom.json"),
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := pack(format, variables, created, *out); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

// packageVersion returns the version of a package. A build without a tag sorts before each release.
func packageVersion(version string) string {
	if v, ok := strings.CutPrefix(version, "v"); ok {
		return strings.ReplaceAll(v, "-", "~") // a prerelease sorts before its release
	}
	return "0~" + version
}

// writeDocs writes the manual pages and completion scripts of a program to a directory.
func writeDocs(dir, program string) error {
	if message, err := exec.Command(program, "man", filepath.Join(dir, "man")).CombinedOutput(); err != nil {
		return fmt.Errorf("writing the manual pages: %w: %s", err, message)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := exec.Command(program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("writing the completion for %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "completion."+shell), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeSBOM(path, binary, version string, created time.Time) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	doc, err := sbom.FromBinary(binary, "berth", version, hex.EncodeToString(sum[:]), created)
	if err != nil {
		return err
	}
	return os.WriteFile(path, doc, 0o644)
}

// pack writes the package of a format to the directory out. variables are those of nfpm.yaml.
func pack(format string, variables map[string]string, created time.Time, out string) error {
	config, err := nfpm.ParseFileWithEnvMapping("nfpm.yaml", func(name string) string { return variables[name] })
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = created
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	path := filepath.Join(out, packager.ConventionalFileName(info))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := packager.Package(info, file); err != nil {
		return err
	}
	fmt.Println(path)
	return file.Close()
}
