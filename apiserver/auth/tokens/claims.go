package tokens

import (
	"github.com/golang-jwt/jwt/v5"
)

// DefaultIssuer is the default issuer of service account tokens. The issuer is also the default
// audience of the API server.
const DefaultIssuer = "https://kubernetes.default.svc"

// claims is the payload of a token. The field names are upstream's.
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

// ref identifies an object by name and UID.
type ref struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}
