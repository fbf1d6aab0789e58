package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/internal/testkit"
)

// startMaliciousRegistry starts a registry that serves the given bodies by path.
func startMaliciousRegistry(t *testing.T, bodies map[string][]byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/v2/")
		data, ok := bodies[path]
		switch {
		case path == "":
			return
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			return
		case strings.Contains(path, "/manifests/"):
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// maliciousManifest returns the manifest and the configuration of an image with one layer. change, if
// not nil, modifies the manifest.
func maliciousManifest(t *testing.T, layer []byte, change func(*v1.Manifest)) (manifest, config []byte) {
	t.Helper()
	config = configOf(t, layer)
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Digest: digestOf(config), Size: int64(len(config))},
		Layers: []v1.Descriptor{{MediaType: types.OCIUncompressedLayer, Digest: digestOf(layer), Size: int64(len(layer))}}}
	if change != nil {
		change(&m)
	}
	return encode(t, m), config
}

// TestMaliciousRegistries checks that content that does not match its announced digest or size is
// rejected.
func TestMaliciousRegistries(t *testing.T) {
	s := open(t, store.Options{})
	layer, other := layerOf(t, file("a", "b")), layerOf(t, file("a", "c"))
	for name, tc := range map[string]struct {
		manifest func(*v1.Manifest)
		change   func(bodies map[string][]byte, manifest, config, layer string)
		ref      string
		want     string
	}{
		"another layer":     {change: func(s map[string][]byte, _, _, l string) { s[l] = other }, want: "sha256:" + digestOf(other).Hex},
		"a truncated layer": {change: func(s map[string][]byte, _, _, l string) { s[l] = s[l][:700] }, want: "layer 1 of 1"},
		"no layer":          {change: func(s map[string][]byte, _, _, l string) { delete(s, l) }, want: "404 Not Found"},
		"another configuration": {change: func(s map[string][]byte, _, c, _ string) {
			s[c] = bytes.ReplaceAll(s[c], []byte("linux"), []byte("limux"))
		}, want: "sha256"},
		"another manifest": {ref: "@" + digestOf([]byte("x")).String(), change: func(s map[string][]byte, m, _, _ string) {
			s["team/app/manifests/"+digestOf([]byte("x")).String()] = s[m]
		}, want: "does not match requested digest"},
		"more layers than the manifest has": {manifest: func(m *v1.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }, want: "configuration lists 1 layers, manifest 2"},
		"a layer of an unknown media type":  {manifest: func(m *v1.Manifest) { m.Layers[0].MediaType = "text/html" }, want: `media type "text/html"`},
		"layer from another host": {manifest: func(m *v1.Manifest) { m.Layers[0].URLs = []string{"http://169.254.169.254/secret"} },
			want: "only the image's own registry is supported"},
		"a huge configuration": {manifest: func(m *v1.Manifest) { m.Config.Size = 1 << 40 }, want: "configuration has 1099511627776 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, config := maliciousManifest(t, layer, tc.manifest)
			bodies := map[string][]byte{"team/app/manifests/1": manifest}
			blobPath := func(data []byte) string { return "team/app/blobs/" + digestOf(data).String() }
			bodies[blobPath(config)], bodies[blobPath(layer)] = config, bytes.Clone(layer)
			if tc.change != nil {
				tc.change(bodies, "team/app/manifests/1", blobPath(config), blobPath(layer))
			}
			ref := tc.ref
			if ref == "" {
				ref = ":1"
			}
			if _, err := s.Pull(t.Context(), startMaliciousRegistry(t, bodies)+"/team/app"+ref, nil, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Pull: %v, want an error with %q", err, tc.want)
			}
			checkEmpty(t, s)
		})
	}
}

// TestImageService checks that ImageService maps errors to gRPC codes and handles missing images.
func TestImageService(t *testing.T) {
	s := store.ImageService{Store: open(t, store.Options{})}
	r := serve(t, map[string]v1.Image{"1": build(t, []oci.File{{Path: "/a", Mode: 0o644, Data: []byte("b")}})})
	r.RequireLogin("ann", "pw")
	spec := &cri.ImageSpec{Image: r.Host() + "/team/app:1"}
	if _, err := s.PullImage(t.Context(), spec, nil, nil); err == nil || !strings.Contains(err.Error(), "UNAUTHORIZED") {
		t.Errorf("pull without a password: %v, want UNAUTHORIZED", err)
	}
	auth := &cri.AuthConfig{Username: "ann", Password: "pw"}
	if _, err := s.PullImage(t.Context(), &cri.ImageSpec{Image: r.Host() + "/team/app:2"}, auth, nil); status.Code(err) != codes.NotFound {
		t.Errorf("pull of a missing tag: %v, want NotFound", err)
	}
	id, err := s.PullImage(t.Context(), spec, auth, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.ImageStatus(t.Context(), spec)
	if err != nil || got.GetId() != id || got.GetUid().GetValue() != 1000 || got.GetSize() == 0 || len(got.RepoDigests) != 1 {
		t.Errorf("ImageStatus: %+v, %v, want image %s with UID 1000 and one digest", got, err, id)
	}
	if list, err := s.ListImages(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("ListImages: %v, %v, want one image", list, err)
	}
	for range 2 { // the second removal is a no-op
		if err := s.RemoveImage(t.Context(), spec); err != nil {
			t.Error(err)
		}
	}
	if got, err := s.ImageStatus(t.Context(), spec); got != nil || err != nil {
		t.Errorf("ImageStatus after the removal: %v, %v, want none", got, err)
	}
	fs, err := s.ImageFsInfo(t.Context())
	if err != nil || fs.ImageFilesystems[0].UsedBytes.Value != 0 || fs.ImageFilesystems[0].FsId.Mountpoint != s.Store.Dir() {
		t.Errorf("ImageFsInfo: %v, %v, want 0 bytes in %s", fs, err, s.Store.Dir())
	}
	checkEmpty(t, s.Store)
}

// TestSoakPlainHTTPRequiresOption checks that plain HTTP is used only for listed registries: not for other
// registries on this machine, nor after a redirect.
func TestSoakPlainHTTPRequiresOption(t *testing.T) {
	runs := testkit.SoakRuns(1, 10)
	r := serve(t, map[string]v1.Image{"1": build(t, []oci.File{{Path: "/a", Mode: 0o644}})})
	for _, tc := range []struct {
		insecure []string
		want     string
	}{
		{[]string{}, r.Host() + ": plain HTTP is not allowed"},
		{[]string{"localhost", "127.0.0.1:1"}, r.Host() + ": plain HTTP is not allowed"},
		{[]string{"127.0.0.1"}, ""},
		{[]string{r.Host()}, ""},
	} {
		s := open(t, store.Options{InsecureRegistries: tc.insecure})
		for range runs {
			if _, err := s.Pull(t.Context(), r.Host()+"/team/app:1", nil, nil); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("with %q: %v, want %q", tc.insecure, err, tc.want)
			}
		}
	}
	redirector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		http.Redirect(w, r, "http://registry.invalid"+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer redirector.Close()
	_, err := open(t, store.Options{}).Pull(t.Context(), strings.TrimPrefix(redirector.URL, "http://")+"/team/app:1", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "registry.invalid: plain HTTP is not allowed") {
		t.Errorf("pull after a redirect: %v, want \"registry.invalid: plain HTTP is not allowed\"", err)
	}
	if !t.Failed() {
		t.Logf("soak: %d pulls through plain HTTP from a loopback address that is not listed, all refused", 2*runs)
	}
}

// TestConcurrentPulls checks that concurrent pulls of one image store a single copy, and that a name
// refers to the newest image.
func TestConcurrentPulls(t *testing.T) {
	first := build(t, []oci.File{{Path: "/a", Mode: 0o644, Data: []byte("b")}}, []oci.File{{Path: "/c", Mode: 0o644}})
	replacement := build(t, []oci.File{{Path: "/a", Mode: 0o644, Data: []byte("b")}})
	r := serve(t, map[string]v1.Image{"1": first})
	s := open(t, store.Options{})
	otherStore, err := store.Open(s.Dir(), store.Options{Limits: store.Limits{MinFree: -1}, InsecureRegistries: []string{"127.0.0.1"}}) // as in another process
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			target := []*store.Store{s, otherStore}[i%2]
			if _, err := target.Pull(t.Context(), r.Host()+"/team/app:1", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("images %+v, %v, want one", list, err)
	}
	if layers, _ := os.ReadDir(filepath.Join(s.Dir(), "layers")); len(layers) != 2 {
		t.Errorf("%d layers, want 2", len(layers))
	}
	if _, err := r.Add("team/app", "1", replacement); err != nil {
		t.Fatal(err)
	}
	newer := pull(t, s, r.Host()+"/team/app:1")
	older, err := s.Resolve(list[0].ID)
	if err != nil || len(older.RepoTags) != 0 || len(older.RepoDigests) != 1 || newer.ID == older.ID {
		t.Errorf("images %+v and %+v, %v, want two, the older one without a tag", newer, older, err)
	}
	for _, image := range []store.Image{older, newer} {
		if err := s.Remove(image.ID); err != nil {
			t.Fatal(err)
		}
	}
	checkEmpty(t, s)
}

// TestPullCancellation checks that a canceled pull leaves nothing.
func TestPullCancellation(t *testing.T) {
	layer := layerOf(t, file("a", strings.Repeat("b", 100_000)))
	manifest, config := maliciousManifest(t, layer, nil)
	started := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.Contains(path, "/manifests/"):
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			_, _ = w.Write(manifest)
		case strings.HasSuffix(path, digestOf(config).String()):
			_, _ = w.Write(config)
		case strings.HasSuffix(path, digestOf(layer).String()):
			_, _ = io.Copy(w, bytes.NewReader(layer[:50_000]))
			w.(http.Flusher).Flush()
			close(started)
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	s := open(t, store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := s.Pull(ctx, strings.TrimPrefix(server.URL, "http://")+"/team/app:1", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Pull: %v, want context.Canceled", err)
	}
	checkEmpty(t, s)
}

// TestStalledRegistries checks that a pull fails after the stall timeout if the registry stops
// responding.
func TestStalledRegistries(t *testing.T) {
	layer := layerOf(t, file("a", strings.Repeat("b", 100_000)))
	manifest, config := maliciousManifest(t, layer, nil)
	blobPath := func(data []byte) string { return "/v2/team/app/blobs/" + digestOf(data).String() }
	bodies := map[string][]byte{"/v2/": nil, "/v2/team/app/manifests/1": manifest, blobPath(config): config, blobPath(layer): layer}
	for name, stalled := range map[string]struct {
		path    string
		partial bool // half of the response is sent
	}{
		"the API version":            {path: "/v2/"},
		"a manifest":                 {path: "/v2/team/app/manifests/1"},
		"the end of a manifest":      {"/v2/team/app/manifests/1", true},
		"a configuration":            {path: blobPath(config)},
		"the end of a configuration": {blobPath(config), true},
		"a layer":                    {path: blobPath(layer)},
		"the end of a layer":         {blobPath(layer), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data := bodies[r.URL.Path]
				w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
				if r.URL.Path != stalled.path {
					_, _ = w.Write(data)
					return
				}
				if stalled.partial {
					_, _ = w.Write(data[:len(data)/2])
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			defer server.Close()
			s := open(t, store.Options{StallTimeout: 300 * time.Millisecond})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in case the pull never ends
			defer cancel()
			if _, err := s.Pull(ctx, strings.TrimPrefix(server.URL, "http://")+"/team/app:1", nil, nil); err == nil || !strings.Contains(err.Error(), "the registry sent nothing for 300ms") {
				t.Errorf("Pull: %v, want \"the registry sent nothing for 300ms\"", err)
			}
			checkEmpty(t, s)
		})
	}
}
