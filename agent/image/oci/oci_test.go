package oci_test

import (
	"archive/tar"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/berthproject/berth/agent/image/oci"
)

func spec() oci.Spec {
	return oci.Spec{Layers: [][]oci.File{
		{{Path: "/bin/busybox", Mode: 0o755, Data: []byte("shell")}, {Path: "/bin/sh", Link: "busybox"}},
		{{Path: "/bin/busybox", Mode: 0o700, Data: []byte("another shell")}, {Path: "/etc/deep/file", Mode: 0o600}, {Path: "/tmp", Dir: true, Mode: 0o1777}, {Path: "/tmp/setuid", Mode: 0o4755}},
	}, Entrypoint: []string{"/bin/sh"}, Env: []string{"A=b"}, User: "1000", WorkingDir: "/tmp"}
}

// TestImagesAreReproducible checks that builds of the same spec have the same digest.
func TestImagesAreReproducible(t *testing.T) {
	var digests [2]string
	for i := range digests {
		image, err := oci.Build(spec())
		if err != nil {
			t.Fatal(err)
		}
		d, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = d.String()
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v, want equal ones", digests)
	}
}

func TestImageContents(t *testing.T) {
	image, err := oci.Build(spec())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	data := mutate.Extract(image)
	defer data.Close()
	for r := tar.NewReader(data); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = h.FileInfo().Mode().String() + " " + h.Linkname + string(text)
	}
	for name, want := range map[string]string{"bin": "drwxr-xr-x ", "bin/busybox": "-rwx------ another shell", "bin/sh": "Lrwxrwxrwx busybox", "etc/deep/file": "-rw------- ", "tmp": "dtrwxrwxrwx ", "tmp/setuid": "urwxr-xr-x "} {
		if got := files[name] + files[name+"/"]; got != want { // names of directories end with a slash
			t.Errorf("%s: %q, want %q; all files: %q", name, got, want, files)
		}
	}
	config, err := image.ConfigFile()
	if err != nil || config.Config.User != "1000" || config.Config.WorkingDir != "/tmp" || config.Config.Env[0] != "A=b" || config.OS != "linux" {
		t.Errorf("configuration %+v, %v, want that of the spec for linux", config, err)
	}
}

func TestInvalidPaths(t *testing.T) {
	for _, path := range []string{"bin/sh", "/bin/../sh", "/", "/bin/"} {
		if _, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: path}}}}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want an error with the path", path, err)
		}
	}
}

func TestRegistry(t *testing.T) {
	r, err := oci.StartRegistry()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	image, err := oci.Build(spec())
	if err != nil {
		t.Fatal(err)
	}
	if name, err := r.Add("team/app", "v1", image); err != nil || name != r.Host()+"/team/app:v1" {
		t.Fatalf("Add: %s, %v, want %s/team/app:v1", name, err, r.Host())
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string, code int, login bool) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.Host()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if login {
			req.SetBasicAuth("ann", "pw")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != code {
			t.Errorf("%s: %s, want %d: %s", path, resp.Status, code, body)
		}
		return string(body)
	}
	get("/v2/", 200, false)
	get("/v2/team/app/manifests/v1", 200, false)
	get("/v2/team/app/manifests/"+digest.String(), 200, false)
	get("/v2/team/app/manifests/v2", 404, false)
	get("/v2/team/app/blobs/sha256:00", 404, false)
	get("/other", 404, false)
	if n := r.Manifests("team/app"); n != 2 {
		t.Errorf("%d manifests sent, want 2", n)
	}
	r.OnManifest(func(repository string) int { return map[string]int{"team/app": 503}[repository] })
	if body := get("/v2/team/app/manifests/v1", 503, false); !strings.Contains(body, "Service Unavailable") {
		t.Errorf("response %s, want Service Unavailable", body)
	}
	r.OnManifest(nil)
	r.RequireLogin("ann", "pw")
	get("/v2/", 401, false)
	get("/v2/team/app/manifests/v1", 200, true)
}
