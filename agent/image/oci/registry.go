package oci

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Registry serves images over plain HTTP on a loopback address, which runtimes accept. Clients
// cannot push; use Add.
type Registry struct {
	server   *http.Server
	listener net.Listener

	mu              sync.Mutex
	images          map[string]v1.Image // by repository:tag and repository@digest
	blobs           map[string]func() (io.ReadCloser, error)
	servedManifests map[string]int // number by repository
	login           string         // required user:password, "" for none
	onManifest      func(repository string) int
}

// StartRegistry starts a registry on a free port of 127.0.0.1.
func StartRegistry() (*Registry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Registry{listener: listener, images: map[string]v1.Image{}, blobs: map[string]func() (io.ReadCloser, error){}, servedManifests: map[string]int{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }() // ends with Close
	return r, nil
}

// Host returns HOST:PORT, the registry part of its image names.
func (r *Registry) Host() string { return r.listener.Addr().String() }

// Close stops serving.
func (r *Registry) Close() error { return r.server.Close() }

// RequireLogin makes the registry require a user and password.
func (r *Registry) RequireLogin(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.login = user + ":" + password
}

// OnManifest sets a function called before each manifest is served. A result other than 0 is sent
// as the HTTP status instead. The function may block, to delay a pull.
func (r *Registry) OnManifest(f func(repository string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onManifest = f
}

// Manifests returns the number of GET requests for manifests of the repository that were served.
func (r *Registry) Manifests(repository string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.servedManifests[repository]
}

// Add serves the image as HOST:PORT/repository:tag and returns that name.
func (r *Registry) Add(repository, tag string, image v1.Image) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	config, err := image.ConfigName()
	if err != nil {
		return "", err
	}
	layers, err := image.Layers()
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[repository+":"+tag], r.images[repository+"@"+digest.String()] = image, image
	r.blobs[config.String()] = func() (io.ReadCloser, error) {
		data, err := image.RawConfigFile()
		return io.NopCloser(strings.NewReader(string(data))), err
	}
	for _, l := range layers {
		d, err := l.Digest()
		if err != nil {
			return "", err
		}
		r.blobs[d.String()] = l.Compressed
	}
	return r.Host() + "/" + repository + ":" + tag, nil
}

// ServeHTTP implements the pull part of the distribution API: /v2/, manifests and blobs.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !r.authorize(req) {
		w.Header().Set("WWW-Authenticate", `Basic realm="berth"`)
		writeError(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
		return
	}
	path := strings.TrimPrefix(req.URL.Path, "/v2/")
	if repository, reference, ok := cutLast(path, "/manifests/"); ok {
		r.serveManifest(w, req, repository, reference)
	} else if _, digest, ok := cutLast(path, "/blobs/"); ok {
		r.serveBlob(w, req, digest)
	} else if path == "" {
		w.WriteHeader(http.StatusOK)
	} else {
		writeError(w, http.StatusNotFound, "UNSUPPORTED", "not a path of the distribution API")
	}
}

func (r *Registry) authorize(req *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(r.login))
	return r.login == "" || req.Header.Get("Authorization") == want
}

func (r *Registry) serveManifest(w http.ResponseWriter, req *http.Request, repository, reference string) {
	separator := ":"
	if strings.Contains(reference, ":") {
		separator = "@"
	}
	r.mu.Lock()
	image, onManifest := r.images[repository+separator+reference], r.onManifest
	r.mu.Unlock()
	if onManifest != nil {
		if code := onManifest(repository); code != 0 {
			writeError(w, code, "DENIED", http.StatusText(code))
			return
		}
	}
	if image == nil {
		writeError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
		return
	}
	data, err := image.RawManifest()
	if err == nil {
		err = setManifestHeaders(w.Header(), image)
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if req.Method == http.MethodGet {
		r.mu.Lock()
		r.servedManifests[repository]++
		r.mu.Unlock()
		_, _ = w.Write(data)
	}
}

// setManifestHeaders sets content type and digest.
func setManifestHeaders(header http.Header, image v1.Image) error {
	kind, err := image.MediaType()
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	header.Set("Content-Type", string(kind))
	header.Set("Docker-Content-Digest", digest.String())
	return nil
}

func (r *Registry) serveBlob(w http.ResponseWriter, req *http.Request, digest string) {
	r.mu.Lock()
	open := r.blobs[digest]
	r.mu.Unlock()
	if open == nil {
		writeError(w, http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown")
		return
	}
	data, err := open()
	if err != nil {
		writeError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	defer data.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", digest)
	if req.Method == http.MethodGet {
		_, _ = io.Copy(w, data)
	}
}

// writeError writes an error as the distribution specification defines.
func writeError(w http.ResponseWriter, code int, name, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": name, "message": message}}})
}

// cutLast cuts s around the last separator. ok is false if there is none.
func cutLast(s, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(separator):], true
}
