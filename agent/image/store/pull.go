package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Auth is a registry credential, with the fields of a pull secret.
type Auth struct {
	Username, Password, IdentityToken, RegistryToken string
}

// Pull pulls an image from its registry and returns it. It does not pull built-in images, but returns existing ones. Only
// Options.InsecureRegistries may use plain HTTP. If auth is nil, the pull is anonymous. progress may be nil.
func (s *Store) Pull(ctx context.Context, image string, auth *Auth, progress Progress) (Image, error) {
	full, err := fullName(image)
	if err != nil {
		return Image{}, err
	}
	if isBuiltin(full) {
		existing, err := s.Resolve(full)
		if err != nil {
			return Image{}, fmt.Errorf("%w: built-in images are created by berth on demand and cannot be pulled", err)
		}
		return existing, nil
	}
	if err := checkNotID(full); err != nil {
		return Image{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	src, err := fetchManifest(ctx, full, auth, s.insecure, stallTransport{secureTransport{remote.DefaultTransport, s.insecure}, s.stallTimeout, cancel})
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", full, contextCause(ctx, err))
	}
	out, err := s.install(ctx, src, progress)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", full, contextCause(ctx, err))
	}
	return out, nil
}

// contextCause returns the cause of ctx if its cancellation caused err. Otherwise it returns err.
func contextCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// fetchManifest reads the manifest and the configuration. The returned source reads each layer from the registry when
// the layer is opened. ctx must not end before that.
func fetchManifest(ctx context.Context, full string, auth *Auth, insecure []string, roundTripper stallTransport) (*imageSource, error) {
	ref, err := parseReference(full, insecure)
	if err != nil {
		return nil, err
	}
	authenticator := authn.Anonymous
	if auth != nil {
		authenticator = authn.FromConfig(authn.AuthConfig{Username: auth.Username, Password: auth.Password, IdentityToken: auth.IdentityToken, RegistryToken: auth.RegistryToken})
	}
	descriptor, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuth(authenticator), remote.WithTransport(roundTripper),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}), remote.WithUserAgent("berth"))
	if err != nil {
		return nil, err
	}
	image, err := descriptor.Image()
	if err != nil {
		return nil, err
	}
	src := &imageSource{cancel: func() { roundTripper.cancel(nil) }}
	if _, tagged := ref.(name.Tag); tagged {
		src.name = full
	}
	if src.repoDigest, err = fullName(repository(full) + "@" + descriptor.Digest.String()); err != nil {
		return nil, err
	}
	if err := src.readImage(image); err != nil {
		return nil, err
	}
	return src, nil
}

// repository returns a full name without its tag or digest.
func repository(full string) string {
	for i := len(full) - 1; i >= 0 && full[i] != '/'; i-- {
		if full[i] == '@' || full[i] == ':' {
			full = full[:i]
		}
	}
	return full
}

// readImage reads the manifest and the configuration of the image.
func (src *imageSource) readImage(image v1.Image) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	if src.manifest, err = image.RawManifest(); err != nil {
		return err
	}
	if src.mediaType, err = image.MediaType(); err != nil {
		return err
	}
	if manifest.Config.Size > maxDocument {
		return fmt.Errorf("configuration has %d bytes, the maximum is %d", manifest.Config.Size, maxDocument)
	}
	if src.config, err = image.RawConfigFile(); err != nil {
		return err
	}
	if err := verifyDigest(src.config, manifest.Config.Digest); err != nil {
		return fmt.Errorf("verifying the configuration: %w", err)
	}
	for i, d := range manifest.Layers {
		if err := checkLayerDescriptor(d); err != nil {
			return fmt.Errorf("layer %d of %d, %s: %w", i+1, len(manifest.Layers), d.Digest, err)
		}
		src.layers = append(src.layers, layerBlob{digest: d.Digest, size: d.Size, open: func() (io.ReadCloser, error) {
			l, err := image.LayerByDigest(d.Digest)
			if err != nil {
				return nil, err
			}
			return l.Compressed()
		}})
	}
	return nil
}

// checkLayerDescriptor rejects unknown media types and layers outside of the image's registry.
func checkLayerDescriptor(d v1.Descriptor) error {
	switch d.MediaType {
	case types.OCILayer, types.OCILayerZStd, types.OCIUncompressedLayer, types.DockerLayer, types.DockerUncompressedLayer:
	default:
		return fmt.Errorf("media type %q: must be a tar archive, optionally compressed with gzip or zstd", d.MediaType)
	}
	if len(d.URLs) > 0 {
		return fmt.Errorf("layer is at %s: only the image's own registry is supported", d.URLs[0])
	}
	return nil
}

// stallTransport cancels a pull whose registry sends nothing for the timeout. A stalled pull
// would block other pods.
type stallTransport struct {
	http.RoundTripper
	timeout time.Duration
	cancel  context.CancelCauseFunc
}

// startTimer starts a timer that cancels the pull after the timeout.
func (t stallTransport) startTimer() *time.Timer {
	return time.AfterFunc(t.timeout, func() { t.cancel(fmt.Errorf("the registry sent nothing for %v", t.timeout)) })
}

// RoundTrip implements http.RoundTripper.
func (t stallTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	defer t.startTimer().Stop()
	resp, err := t.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &stallReader{resp.Body, t}
	}
	return resp, err
}

// stallReader is a response body with a stall timeout.
type stallReader struct {
	io.ReadCloser
	transport stallTransport
}

// Read implements io.Reader.
func (r *stallReader) Read(p []byte) (int, error) {
	defer r.transport.startTimer().Stop()
	return r.ReadCloser.Read(p)
}

// secureTransport rejects plain HTTP to registries that are not in insecure.
type secureTransport struct {
	http.RoundTripper
	insecure []string
}

// RoundTrip implements http.RoundTripper.
func (t secureTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !slices.Contains(t.insecure, req.URL.Host) && !slices.Contains(t.insecure, req.URL.Hostname()) {
		return nil, fmt.Errorf("%s: plain HTTP is not allowed: the registry must use HTTPS or be in InsecureRegistries (--insecure-registry)", req.URL.Host)
	}
	return t.RoundTripper.RoundTrip(req)
}

// parseReference parses a full name. Registries that are listed as insecure may use plain HTTP.
func parseReference(full string, insecure []string) (name.Reference, error) {
	ref, err := name.ParseReference(full)
	if err != nil {
		return nil, err
	}
	host := ref.Context().RegistryStr()
	hostname, _, _ := strings.Cut(host, ":")
	if slices.Contains(insecure, host) || slices.Contains(insecure, hostname) {
		return name.ParseReference(full, name.Insecure)
	}
	return ref, nil
}
