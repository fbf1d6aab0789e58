package tokens

import (
	"github.com/golang-jwt/jwt/v5"
)

// DefaultIssuer is the iss claim of this cluster's tokens, and the audience
// that the API server itself answers to.
const DefaultIssuer = "https://kubernetes.default.svc"

// claims is the payload of a token; the field names are upstream's, so that
// stock clients can read them.
type claims struct {
	jwt.RegisteredClaims
	Kubernetes kubernetesClaims `json:"kubernetes.io"`
}

type kubernetesClaims struct {
	Namespace      string `json:"namespace,omitempty"`
	ServiceAccount ref    `json:"serviceaccount,omitempty"`
	Pod            *ref   `json:"pod,omitempty"`
	Secret         *ref   `json:"secret,omitempty"`
	Node           *ref   `json:"node,omitempty"`
}

// ref names an object and the life of it that is meant.
type ref struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}
