//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// proxy is an HTTPS proxy that answers for the public registries.
type proxy struct {
	url         string
	certificate string // file
	server      *http.Server
	tunnels     *tunnelListener
}

// registries are the names that the proxy answers for.
var registries = []string{"gcr.io", "registry.k8s.io", "k8s.gcr.io"}

// startProxy starts a proxy that passes all requests to handler. It writes its certificate to a file.
func startProxy(handler http.Handler, certificateFile string) (*proxy, error) {
	certificate, err := selfSigned(certificateFile)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{url: "http://" + listener.Addr().String(), certificate: certificateFile, tunnels: &tunnelListener{conns: make(chan net.Conn), done: make(chan struct{}), addr: listener.Addr()}}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	inner := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = inner.Serve(tls.NewListener(p.tunnels, config)) }()
	p.server = &http.Server{Handler: http.HandlerFunc(p.connect), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

func (p *proxy) close() error { return errors.Join(p.server.Close(), p.tunnels.Close()) }

// environment returns the environment of a process that uses the proxy.
func (p *proxy) environment() []string {
	return append(os.Environ(), "HTTPS_PROXY="+p.url, "SSL_CERT_FILE="+p.certificate, "NO_PROXY=127.0.0.1,localhost")
}

// connect accepts a tunnel to any host.
func (p *proxy) connect(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodConnect {
		http.Error(w, "method "+req.Method+": must be CONNECT", http.StatusMethodNotAllowed)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case p.tunnels.conns <- conn:
	case <-p.tunnels.done:
		_ = conn.Close()
	}
}

// tunnelListener is a listener for the connections in tunnels.
type tunnelListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

// Accept implements net.Listener.
func (l *tunnelListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *tunnelListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *tunnelListener) Addr() net.Addr { return l.addr }

// selfSigned returns a self-signed certificate for the registries, and writes the certificate without its
// key to a file.
func selfSigned(file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "substitute registries"}, DNSNames: registries,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, text, 0o600)
}
