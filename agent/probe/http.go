package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// userAgent is the kubelet's for this Kubernetes release.
const userAgent = "kube-probe/1.37"

// maxRedirects is the default of net/http.
const maxRedirects = 10

// httpTransport opens a connection per probe, because a reused one would hide that the server
// no longer accepts any. It does not verify certificates, as probes carry no secrets.
var httpTransport = &http.Transport{DisableKeepAlives: true, DisableCompression: true, Proxy: nil,
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}

// HTTPGet performs an httpGet action of a probe or lifecycle hook. ok reports whether the status
// code is 200 to 399. Otherwise message has the reason. container resolves named ports. address is
// the default host.
func HTTPGet(ctx context.Context, action *corev1.HTTPGetAction, container *corev1.Container, address string) (ok bool, message string) {
	r := probeHTTP(ctx, action, container, address)
	return r.outcome == success, r.message
}

func probeHTTP(ctx context.Context, action *corev1.HTTPGetAction, container *corev1.Container, address string) result {
	request, err := newRequest(ctx, action, container, address)
	if err != nil {
		return result{unknown, err.Error()}
	}
	client := &http.Client{Transport: httpTransport, CheckRedirect: checkRedirect}
	response, err := client.Do(request)
	if err != nil {
		return result{failure, err.Error()} // connection failed
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxOutput))
	switch code := response.StatusCode; {
	case err != nil:
		return result{failure, err.Error()}
	case code < 200 || code >= 400:
		return result{failure, fmt.Sprintf("HTTP probe failed with statuscode: %d", code)}
	case code >= 300: // redirect to another host
		return result{success, "Probe terminated redirects, Response body: " + string(body)}
	}
	return result{success, ""}
}

// checkRedirect does not follow redirects to another host, which the probe does not check.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if request.URL.Hostname() != via[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return nil
}

func newRequest(ctx context.Context, action *corev1.HTTPGetAction, container *corev1.Container, address string) (*http.Request, error) {
	port, err := Port(action.Port, container)
	if err != nil {
		return nil, err
	}
	host := action.Host
	if host == "" {
		host = address
	}
	target, err := url.Parse(action.Path)
	if err != nil { // use the path literally
		target = &url.URL{Path: action.Path}
	}
	target.Scheme, target.Host = "http", net.JoinHostPort(host, strconv.Itoa(port))
	if action.Scheme != "" {
		target.Scheme = strings.ToLower(string(action.Scheme))
	}
	if !strings.HasPrefix(target.Path, "/") {
		target.Path = "/" + target.Path
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	for _, h := range action.HTTPHeaders {
		request.Header.Add(h.Name, h.Value)
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	// A header with an empty value is not sent; net/http does this for an empty user agent.
	if _, set := request.Header["User-Agent"]; !set {
		request.Header.Set("User-Agent", userAgent)
	}
	if _, set := request.Header["Accept"]; !set {
		request.Header.Set("Accept", "*/*")
	} else if request.Header.Get("Accept") == "" {
		request.Header.Del("Accept")
	}
	return request, nil
}
