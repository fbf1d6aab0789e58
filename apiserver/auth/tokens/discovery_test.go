package tokens

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// TestDiscoveryKeyVerifiesTokens checks that the discovery documents suffice to verify a token.
func TestDiscoveryKeyVerifiesTokens(t *testing.T) {
	f := newFixture(t)
	documents, err := f.issuer.DiscoveryHandlers("127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string, v any) {
		t.Helper()
		recorder := httptest.NewRecorder()
		documents[path].ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if err := json.Unmarshal(recorder.Body.Bytes(), v); err != nil {
			t.Fatal(err)
		}
	}
	var metadata struct {
		Issuer string
		Keys   string `json:"jwks_uri"`
	}
	get(MetadataPath, &metadata)
	if metadata.Issuer != DefaultIssuer || metadata.Keys != "https://127.0.0.1:6443"+KeysPath {
		t.Errorf("got metadata %+v, want issuer %s and keys at %s", metadata, DefaultIssuer, KeysPath)
	}
	var keys struct{ Keys []jwk }
	get(KeysPath, &keys)
	decode := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	point := append(append([]byte{4}, decode(keys.Keys[0].X)...), decode(keys.Keys[0].Y)...)
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewParser(jwt.WithoutClaimsValidation()).Parse(f.issue(t, BoundObjects{}), func(*jwt.Token) (any, error) { return public, nil })
	if err != nil || token.Header["kid"] != keys.Keys[0].ID {
		t.Errorf("got error %v, kid %v, want kid %s", err, token.Header["kid"], keys.Keys[0].ID)
	}
}
