package tokens

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenjwt "k8s.io/apiserver/pkg/authentication/token/jwt"
)

// leeway tolerates clock skew and lets a terminating pod finish its last requests, as upstream.
const leeway = time.Minute

// Verifier verifies service account tokens. It implements authenticator.Token.
type Verifier struct {
	issuer           string
	key              *ecdsa.PublicKey
	audiences        authenticator.Audiences
	getter           Getter
	now              func() time.Time
	parser           *jwt.Parser
	unverifiedParser *jwt.Parser
}

// NewVerifier returns a verifier for tokens of issuer signed with key. audiences are those of the
// API server; a request context can override them (TokenReview).
func NewVerifier(issuer string, key *ecdsa.PublicKey, audiences []string, getter Getter, now func() time.Time) *Verifier {
	return &Verifier{
		issuer: issuer, key: key, audiences: audiences, getter: getter, now: now,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
			jwt.WithIssuer(issuer),
			jwt.WithExpirationRequired(),
			jwt.WithLeeway(leeway),
			jwt.WithTimeFunc(now),
			jwt.WithStrictDecoding(),
		),
		unverifiedParser: jwt.NewParser(),
	}
}

// AuthenticateToken implements authenticator.Token.
func (v *Verifier) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	var unverified claims
	if _, _, err := v.unverifiedParser.ParseUnverified(token, &unverified); err != nil || unverified.Issuer != v.issuer {
		return nil, false, nil // another authenticator may accept it
	}
	var c claims
	if _, err := v.parser.ParseWithClaims(token, &c, v.publicKey); err != nil {
		if errors.Is(err, jwt.ErrTokenExpired) {
			return nil, false, errors.New("service account token has expired")
		}
		return nil, false, fmt.Errorf("invalid service account token: %w", err)
	}
	accepted, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		accepted = v.audiences
	}
	matched := accepted.Intersect(authenticator.Audiences(c.Audience))
	if len(accepted) > 0 && len(matched) == 0 {
		return nil, false, fmt.Errorf("token audiences %q is invalid for the target audiences %q", []string(c.Audience), []string(accepted))
	}
	info, err := v.validateClaims(ctx, &c)
	if err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: info.UserInfo(), Audiences: matched}, true, nil
}

func (v *Verifier) publicKey(*jwt.Token) (any, error) { return v.key, nil }

// validateClaims reads the objects that the token refers to and validates them.
func (v *Verifier) validateClaims(ctx context.Context, c *claims) (*serviceaccount.ServiceAccountInfo, error) {
	k := &c.Kubernetes
	if k.Namespace == "" || k.ServiceAccount.Name == "" ||
		!serviceaccount.MatchesUsername(k.Namespace, k.ServiceAccount.Name, c.Subject) {
		return nil, fmt.Errorf("service account token: sub %q does not name service account %q of namespace %q", c.Subject, k.ServiceAccount.Name, k.Namespace)
	}
	sa, err := v.getter.ServiceAccount(ctx, k.Namespace, k.ServiceAccount.Name)
	if err := v.checkObject("service account", k.Namespace, k.ServiceAccount, sa, err); err != nil {
		return nil, err
	}
	info := &serviceaccount.ServiceAccountInfo{
		Namespace: k.Namespace, Name: k.ServiceAccount.Name, UID: k.ServiceAccount.UID,
		CredentialID: tokenjwt.CredentialIDForJTI(c.ID),
	}
	if k.Pod != nil {
		pod, err := v.getter.Pod(ctx, k.Namespace, k.Pod.Name)
		if err := v.checkObject("pod", k.Namespace, *k.Pod, pod, err); err != nil {
			return nil, err
		}
		info.PodName, info.PodUID = k.Pod.Name, k.Pod.UID
	}
	if k.Secret != nil {
		secret, err := v.getter.Secret(ctx, k.Namespace, k.Secret.Name)
		if err := v.checkObject("secret", k.Namespace, *k.Secret, secret, err); err != nil {
			return nil, err
		}
	}
	if k.Node != nil {
		info.NodeName, info.NodeUID = k.Node.Name, k.Node.UID
		if k.Pod == nil { // with a pod, the node is informational
			node, err := v.getter.Node(ctx, k.Node.Name)
			if err := v.checkObject("node", "", *k.Node, node, err); err != nil {
				return nil, err
			}
		}
	}
	return info, nil
}

// checkObject returns an error unless obj is the object that the claim refers to and is not deleted.
// err is the error of reading obj.
func (v *Verifier) checkObject(kind, namespace string, claim ref, obj metav1.Object, err error) error {
	name := claim.Name
	if namespace != "" {
		name = namespace + "/" + name
	}
	if err != nil {
		return fmt.Errorf("service account token: looking for %s %s: %w", kind, name, err)
	}
	if string(obj.GetUID()) != claim.UID {
		return fmt.Errorf("service account token: %s %s has uid %s, the token was issued for %s", kind, name, obj.GetUID(), claim.UID)
	}
	if at := obj.GetDeletionTimestamp(); at != nil && at.Time.Before(v.now().Add(-leeway)) {
		return fmt.Errorf("service account token: %s %s has been deleted", kind, name)
	}
	return nil
}
