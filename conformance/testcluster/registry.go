package testcluster

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

const (
	// proxyAddress is the address of the proxy through which nodes reach the registries. It is in the network namespace
	// of the cluster.
	proxyAddress = "127.0.0.1:3128"
	// directNetworks are the destinations that nodes reach without the proxy.
	directNetworks = "127.0.0.0/8,10.0.0.0/8,192.0.2.0/24,.svc,.cluster.local"
)

// imageRegistry replaces the registries whose images nodes must pull. It uses HTTPS with its own certificates.
type imageRegistry struct {
	servers      map[string]*httptest.Server // key: host
	proxy        *http.Server                // set by serveProxy
	certificates string                      // path of a PEM file
}

// startRegistry starts a registry for each host in the references of the pulled images. It reads the images from archive.
func startRegistry(ctx context.Context, dir, archive string, pulled []string) (*imageRegistry, error) {
	r := &imageRegistry{servers: map[string]*httptest.Server{}, certificates: filepath.Join(dir, "registry.pem")}
	for _, reference := range pulled {
		if err := r.add(ctx, archive, reference); err != nil {
			r.close()
			return nil, fmt.Errorf("adding %s to the image registry: %w", reference, err)
		}
	}
	var pems []byte
	for _, server := range r.servers {
		pems = append(pems, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})...)
	}
	if err := os.WriteFile(r.certificates, pems, 0o644); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// add serves an image of the archive.
func (r *imageRegistry) add(ctx context.Context, archive, reference string) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	host := tag.RegistryStr()
	if r.servers[host] == nil {
		if r.servers[host], err = registry.TLS(host); err != nil {
			return err
		}
	}
	image, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		return err
	}
	return remote.Write(tag, image, remote.WithContext(ctx), remote.WithTransport(r.servers[host].Client().Transport))
}

// environment returns the environment variables with which a program pulls images from the registries.
func (r *imageRegistry) environment() []string {
	return []string{"HTTPS_PROXY=http://" + proxyAddress, "NO_PROXY=" + directNetworks, "SSL_CERT_FILE=" + r.certificates}
}

// serveProxy serves a proxy to the registries in the network namespace of a process.
func (r *imageRegistry) serveProxy(pid int) error {
	listener, err := listenInNamespace(fmt.Sprintf("/proc/%d/ns/net", pid), proxyAddress)
	if err != nil {
		return fmt.Errorf("listening on %s in the network namespace of the cluster: %w", proxyAddress, err)
	}
	r.proxy = &http.Server{Handler: http.HandlerFunc(r.connect)} //nolint:gosec // no deadline: the only clients are nodes of this command
	go func() { _ = r.proxy.Serve(listener) }()                  // close ends it
	return nil
}

// connect answers a CONNECT request for a registry with a tunnel to it.
func (r *imageRegistry) connect(w http.ResponseWriter, req *http.Request) {
	server := r.servers[strings.TrimSuffix(req.Host, ":443")]
	if req.Method != http.MethodConnect || server == nil {
		hosts := strings.Join(slices.Sorted(maps.Keys(r.servers)), ":443, ")
		http.Error(w, fmt.Sprintf("%s %s: must be CONNECT and one of %s:443", req.Method, req.Host, hosts), http.StatusForbidden)
		return
	}
	upstream, err := (&net.Dialer{}).DialContext(req.Context(), "tcp", strings.TrimPrefix(server.URL, "https://"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer upstream.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(upstream, buffered) // the client sees a broken tunnel as a failed request
		_ = upstream.Close()
	}()
	_, _ = io.Copy(client, upstream)
}

func (r *imageRegistry) close() {
	if r.proxy != nil {
		_ = r.proxy.Close()
	}
	for _, server := range r.servers {
		server.Close()
	}
}

// listenInNamespace listens on a TCP address in a network namespace, given by its file.
func listenInNamespace(namespace, address string) (net.Listener, error) {
	target, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	runtime.LockOSThread()
	current, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer current.Close()
	if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // it does not block
	if restoreErr := unix.Setns(int(current.Fd()), unix.CLONE_NEWNET); restoreErr != nil {
		return nil, errors.Join(err, restoreErr) // the thread stays locked and ends with the goroutine
	}
	runtime.UnlockOSThread()
	return listener, err
}
