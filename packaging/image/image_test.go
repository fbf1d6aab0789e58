package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spdx "github.com/spdx/tools-golang/json"
)

// program builds a small static binary that depends on a module, and returns its path.
func program(t *testing.T, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if message, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the test program: %v\n%s", err, message)
	}
	return out
}

// unpack unpacks a tar file in a new directory and returns the directory.
func unpack(t *testing.T, file string) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// filesOf returns the contents and modes of the files of an image by path.
func filesOf(t *testing.T, image v1.Image) (files map[string][]byte, modes map[string]int64) {
	t.Helper()
	files, modes = map[string][]byte{}, map[string]int64{}
	content := mutate.Extract(image)
	defer content.Close()
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.Mode
	}
}

func TestImage(t *testing.T) {
	out := t.TempDir()
	args := []string{"-version", "v1.2.3", "-commit", "abc", "-date", "2026-01-02T03:04:05Z",
		"linux/amd64=" + program(t, "amd64"), "linux/arm64=" + program(t, "arm64")}
	if err := run(append([]string{"-out", out}, args...)); err != nil {
		t.Fatal(err)
	}
	dir, err := layout.FromPath(unpack(t, filepath.Join(out, "berth-v1.2.3-image.tar")))
	if err != nil {
		t.Fatal(err)
	}
	top, err := dir.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["io.containerd.image.name"] != "docker.io/library/berth:v1.2.3" {
		t.Fatalf("the layout's index lists %+v, want one index named docker.io/library/berth:v1.2.3", manifest.Manifests)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if manifest, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image)
		checkSBOM(t, image, filepath.Join(out, "berth-v1.2.3-linux-"+d.Platform.Architecture+".spdx.json"))
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("the image has platforms %q, want %q", platforms, want)
	}
}

// checkImage checks the configuration and files of an image.
func checkImage(t *testing.T, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/berth"}) ||
		c.Labels["org.opencontainers.image.version"] != "v1.2.3" || c.Labels["org.opencontainers.image.revision"] != "abc" {
		t.Errorf("got configuration %+v, want user 65532:65532, entrypoint /berth, version v1.2.3 and revision abc", c)
	}
	files, modes := filesOf(t, image)
	if modes["berth"] != 0o755 || len(files["berth"]) == 0 {
		t.Errorf("/berth has %d bytes and mode %o, want content and mode 755", len(files["berth"]), modes["berth"])
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("got no CA certificates in the image, want some")
	}
	if n := strings.Count(string(files["etc/ssl/certs/ca-certificates.crt"]), "BEGIN CERTIFICATE"); n < 80 {
		t.Errorf("the image has %d CA certificates, want at least 80", n)
	}
}

// checkSBOM checks that the SBOM in the image equals that in a file and lists the program's module.
func checkSBOM(t *testing.T, image v1.Image, file string) {
	t.Helper()
	files, _ := filesOf(t, image)
	embedded := files["usr/share/doc/berth/sbom.spdx.json"]
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(embedded, written) {
		t.Errorf("got an SBOM of %d bytes in the image, want that of %s with %d bytes", len(embedded), file, len(written))
	}
	doc, err := spdx.Read(bytes.NewReader(embedded))
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, p := range doc.Packages {
		modules = append(modules, p.PackageName)
	}
	if !slices.Contains(modules, "github.com/opencontainers/image-spec") || !slices.Contains(modules, "stdlib") {
		t.Errorf("the SBOM lists %q, want also github.com/opencontainers/image-spec and stdlib", modules)
	}
}

// TestImageIsReproducible checks that two images are equal if their binaries differ only in modification time and path.
func TestImageIsReproducible(t *testing.T) {
	var images [][]byte
	for range 2 {
		out := t.TempDir()
		if err := run([]string{"-out", out, "-version", "v1", "linux/amd64=" + program(t, "amd64")}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(out, "berth-v1-image.tar"))
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, data)
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("got different images of two builds of a binary, want equal images")
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/berth:v1"
	if err := run([]string{"-out", t.TempDir(), "-version", "v1", "-push", reference, "linux/amd64=" + program(t, "amd64")}); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

func TestInvalidArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no binary"},
		{[]string{"berth"}, `argument "berth": must be OS/ARCHITECTURE=FILE`},
		{[]string{"-date", "today", "linux/amd64=x"}, "-date"},
		{[]string{"-out", "-", "linux/amd64=/nonexistent"}, "linux/amd64: open /nonexistent"},
	} {
		if err := run(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("run(%q): got error %v, want one with %q", c.args, err, c.want)
		}
	}
}
