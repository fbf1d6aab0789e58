package ui

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
)

// setHeaders sets the headers of each response, which forbid inline scripts, other hosts, frames and caches.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// rejectOrigin returns the reason to reject a request, or "". The Host header must be an IP address or localhost, which
// prevents DNS rebinding. Pages of other origins get no data. A request that is neither GET nor HEAD requires the
// Origin header, which browsers always set.
func rejectOrigin(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host != "localhost" && net.ParseIP(trimBrackets(host)) == nil {
		return "header Host: must be an IP address or localhost"
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return "header Sec-Fetch-Site: must be same-origin"
	}
	if origin := r.Header.Get("Origin"); origin != "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host || u.Scheme != scheme(r) {
			return "header Origin: must be the origin of this page"
		}
	}
	return ""
}

// scheme returns the URL scheme of a request.
func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// trimBrackets removes the brackets of an IPv6 address.
func trimBrackets(host string) string {
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		return host[1 : n-1]
	}
	return host
}

// writeError sends an error as JSON.
func writeError(w http.ResponseWriter, code int, message string) {
	writeJSON(w, code, map[string]any{"code": code, "message": message})
}

// writeJSON sends a value as JSON.
func writeJSON(w http.ResponseWriter, code int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"code":500,"message":"encoding the response"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
