package tokens

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Issuer issues service account tokens.
type Issuer struct {
	issuer string
	key    *ecdsa.PrivateKey
	keyID  string
	now    func() time.Time
}

// NewIssuer returns an issuer that signs with key. issuer is the iss claim, normally DefaultIssuer.
// now returns the current time.
func NewIssuer(issuer string, key *ecdsa.PrivateKey, now func() time.Time) (*Issuer, error) {
	id, err := keyID(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	return &Issuer{issuer: issuer, key: key, keyID: id, now: now}, nil
}

// BoundObjects are the objects that a token is bound to besides its account: at most one of Pod,
// Secret and Node. NodeOfPod is informational (the node of the pod).
type BoundObjects struct {
	Pod       *corev1.Pod
	Secret    *corev1.Secret
	Node      *corev1.Node
	NodeOfPod *corev1.Node
}

// IssuedToken is a signed token with its ID and expiry.
type IssuedToken struct {
	Token   string
	ID      string // the jti claim, for audit
	Expires time.Time
}

// Issue signs a token for sa with the lifetime and the audiences.
func (i *Issuer) Issue(sa *corev1.ServiceAccount, bound BoundObjects, audiences []string, lifetime time.Duration) (IssuedToken, error) {
	now := i.now()
	out := IssuedToken{ID: uuid.NewString(), Expires: now.Add(lifetime)}
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    i.issuer,
			Subject:   serviceaccount.MakeUsername(sa.Namespace, sa.Name),
			Audience:  audiences,
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(out.Expires),
			ID:        out.ID,
		},
		Kubernetes: kubernetesClaims{
			Namespace:      sa.Namespace,
			ServiceAccount: ref{Name: sa.Name, UID: string(sa.UID)},
		},
	}
	k := &c.Kubernetes
	switch {
	case bound.Pod != nil:
		k.Pod = &ref{Name: bound.Pod.Name, UID: string(bound.Pod.UID)}
		if bound.NodeOfPod != nil {
			k.Node = &ref{Name: bound.NodeOfPod.Name, UID: string(bound.NodeOfPod.UID)}
		} else if bound.Pod.Spec.NodeName != "" {
			k.Node = &ref{Name: bound.Pod.Spec.NodeName}
		}
	case bound.Secret != nil:
		k.Secret = &ref{Name: bound.Secret.Name, UID: string(bound.Secret.UID)}
	case bound.Node != nil:
		k.Node = &ref{Name: bound.Node.Name, UID: string(bound.Node.UID)}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, c)
	token.Header["kid"] = i.keyID
	delete(token.Header, "typ") // as in upstream's tokens
	var err error
	if out.Token, err = token.SignedString(i.key); err != nil {
		return IssuedToken{}, fmt.Errorf("signing a token for service account %s/%s: %w", sa.Namespace, sa.Name, err)
	}
	return out, nil
}

// keyID returns the hash of the DER form of a public key, as upstream does.
func keyID(key *ecdsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encoding the token key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
