package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"sync"
)

// maxSessionBody is the maximum size of a request that starts a session, in bytes.
const maxSessionBody = 4096

// session is the session of a one-time link. It lasts as long as the process.
type session struct {
	mu   sync.Mutex
	code string // of the link; used once
	used bool
	// cookie is the name of the cookie. It differs between processes, because browsers send the cookies of a host to
	// all of its ports. A cookie replaces another cookie of the same name.
	cookie string
	id     string // value of the cookie
}

func newSession() *session {
	return &session{code: rand.Text(), cookie: "berth_session_" + rand.Text(), id: rand.Text()}
}

// exchange returns the value of the cookie if code is that of the link and has not been used before.
func (s *session) exchange(code string) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used || subtle.ConstantTimeCompare([]byte(code), []byte(s.code)) != 1 {
		return "", false
	}
	s.used = true
	return s.id, true
}

// matches reports whether a request has the session's cookie.
func (s *session) matches(r *http.Request) bool {
	for _, c := range r.CookiesNamed(s.cookie) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.id)) == 1 {
			return true
		}
	}
	return false
}

// startSession sets the session cookie in exchange for the code of the one-time link. The page's script reads the code
// from the URL's fragment. Browsers do not send fragments, so no log contains the code.
func (s *Server) startSession(w http.ResponseWriter, r *http.Request) {
	var body struct{ Code string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSessionBody)).Decode(&body); err != nil {
		writeError(w, http.StatusBadRequest, "decoding the request: "+err.Error())
		return
	}
	if s.session == nil {
		writeError(w, http.StatusNotFound, "this page has no one-time link: sign in with a bearer token")
		return
	}
	id, ok := s.session.exchange(body.Code)
	if !ok {
		writeError(w, http.StatusForbidden, "the link was used before or is not valid: run `berth ui` again")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.session.cookie, Value: id, Path: "/ui/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	w.WriteHeader(http.StatusNoContent)
}

// serveSignIn serves the method by which users sign in.
func (s *Server) serveSignIn(w http.ResponseWriter, _ *http.Request) {
	method := "token"
	if s.session != nil {
		method = "link"
	}
	writeJSON(w, http.StatusOK, map[string]string{"method": method})
}
