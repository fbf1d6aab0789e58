package testcluster

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/berthproject/berth/agent/image/oci"
)

// TestRegistryServesImagesOfSeveralHosts checks that a client with the environment of a node pulls images through the proxy.
func TestRegistryServesImagesOfSeveralHosts(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "images.tar")
	images := []string{"registry.example.com/a:1", "other.example.com/b/c:2", "docker:3"}
	specs := map[string]oci.Spec{}
	for _, i := range images {
		specs[i] = oci.Spec{Layers: [][]oci.File{{{Path: "/name", Mode: 0o644, Data: []byte(i)}}}}
	}
	if err := Pack(archive, specs); err != nil {
		t.Fatal(err)
	}
	r, err := startRegistry(t.Context(), dir, archive, images)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	proxy := httptest.NewServer(http.HandlerFunc(r.connect))
	defer proxy.Close()
	certificates, err := os.ReadFile(r.certificates)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificates)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(address), TLSClientConfig: &tls.Config{RootCAs: roots}} //nolint:gosec // the default version
	defer transport.CloseIdleConnections()
	pull := func(reference string) error {
		tag, err := name.NewTag(reference)
		if err != nil {
			return err
		}
		_, err = remote.Image(tag, remote.WithContext(t.Context()), remote.WithTransport(transport))
		return err
	}
	for _, i := range images {
		if err := pull(i); err != nil {
			t.Errorf("pulling %s: %v", i, err)
		}
	}
	if err := pull("unknown.example.com/a:1"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("got error %v for an unknown host, want Forbidden", err)
	}
	if _, err := startRegistry(t.Context(), dir, archive, []string{"registry.example.com/none:1"}); err == nil || !strings.Contains(err.Error(), "registry.example.com/none:1") {
		t.Errorf("got error %v for an image that the archive lacks, want one with its name", err)
	}
}

func TestBuiltProgram(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, name, want string }{{dir, "program", path}, {dir, "other", ""}, {"", "program", ""}} {
		if got, err := BuiltProgram(c.dir, c.name); got != c.want || err != nil {
			t.Errorf("BuiltProgram(%q, %q) = %q (error %v), want %q", c.dir, c.name, got, err, c.want)
		}
	}
}
