package tokens

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/golang-jwt/jwt/v5"
)

// Paths of the OpenID Connect discovery documents (RFC 8414 and RFC 7517), with which other programs
// verify tokens without a request to this server.
const (
	MetadataPath = "/.well-known/openid-configuration"
	KeysPath     = "/openid/v1/jwks"
)

// jwk is an elliptic-curve public key (RFC 7518, section 6.2).
type jwk struct {
	Use       string `json:"use"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Curve     string `json:"crv"`
	Algorithm string `json:"alg"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// DiscoveryHandlers returns the handlers of MetadataPath and KeysPath. address is the HOST:PORT
// that clients use.
func (i *Issuer) DiscoveryHandlers(address string) (map[string]http.Handler, error) {
	point, err := i.key.PublicKey.Bytes() // 0x04, x, y: SEC 1, section 2.3.3
	if err != nil {
		return nil, fmt.Errorf("encoding the token key: %w", err)
	}
	half := (len(point) - 1) / 2
	keys := map[string][]jwk{"keys": {{
		Use: "sig", Type: "EC", ID: i.keyID, Curve: i.key.Params().Name, Algorithm: jwt.SigningMethodES256.Alg(),
		X: base64.RawURLEncoding.EncodeToString(point[1 : 1+half]),
		Y: base64.RawURLEncoding.EncodeToString(point[1+half:]),
	}}}
	metadata := map[string]any{
		"issuer":                                i.issuer,
		"jwks_uri":                              "https://" + address + KeysPath,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{jwt.SigningMethodES256.Alg()},
	}
	out := map[string]http.Handler{}
	if out[MetadataPath], err = jsonHandler("application/json", metadata); err != nil {
		return nil, err
	}
	out[KeysPath], err = jsonHandler("application/jwk-set+json", keys)
	return out, err
}

// jsonHandler serves v, which is encoded once.
func jsonHandler(contentType string, v any) (http.Handler, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(body) // the client may have disconnected
	}), nil
}
