package image

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var errNoSecrets = errors.New("the node has no access to secrets")

// dockerAuth is the entry of a docker configuration for one registry.
type dockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"` // base64 of USERNAME:PASSWORD
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// credential is a login and the registries it applies to.
type credential struct {
	pattern string // HOST[:PORT][/PATH]; each label of HOST may contain * and ?
	auth    *cri.AuthConfig
}

// credentials returns the credentials from the pod's pull secrets that match the repository,
// most specific first, and the names of secrets that cannot be used.
func (p *Puller) credentials(ctx context.Context, pod *corev1.Pod, repository string) (auths []*cri.AuthConfig, unusable []string) {
	var candidates []credential
	for _, ref := range pod.Spec.ImagePullSecrets {
		secret, err := p.opts.Secret(ctx, pod.Namespace, ref.Name)
		var parsed []credential
		if err == nil {
			parsed, err = parseSecret(secret)
		}
		if err != nil {
			unusable = append(unusable, ref.Name)
			continue
		}
		candidates = append(candidates, parsed...)
	}
	slices.SortStableFunc(candidates, func(a, b credential) int { return len(b.pattern) - len(a.pattern) })
	for _, c := range candidates {
		if c.matches(repository) {
			auths = append(auths, c.auth)
		}
	}
	return auths, unusable
}

// parseSecret parses a secret of type kubernetes.io/dockerconfigjson or
// kubernetes.io/dockercfg.
func parseSecret(s *corev1.Secret) ([]credential, error) {
	logins := map[string]dockerAuth{}
	var err error
	switch {
	case s.Type == corev1.SecretTypeDockerConfigJson && len(s.Data[corev1.DockerConfigJsonKey]) > 0:
		var file struct {
			Auths map[string]dockerAuth `json:"auths"`
		}
		err = json.Unmarshal(s.Data[corev1.DockerConfigJsonKey], &file)
		logins = file.Auths
	case s.Type == corev1.SecretTypeDockercfg && len(s.Data[corev1.DockerConfigKey]) > 0:
		err = json.Unmarshal(s.Data[corev1.DockerConfigKey], &logins)
	default:
		err = fmt.Errorf("type %q: must be %s or %s, with the data of that type", s.Type, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg)
	}
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	var out []credential
	for address, l := range logins {
		auth, err := l.authConfig()
		if err != nil {
			return nil, fmt.Errorf("secret %s/%s: auths[%q]: %w", s.Namespace, s.Name, address, err)
		}
		out = append(out, credential{pattern: registryPattern(address), auth: auth})
	}
	slices.SortFunc(out, func(a, b credential) int { return strings.Compare(a.pattern, b.pattern) })
	return out, nil
}

func (l dockerAuth) authConfig() (*cri.AuthConfig, error) {
	a := &cri.AuthConfig{Username: l.Username, Password: l.Password, IdentityToken: l.IdentityToken, RegistryToken: l.RegistryToken}
	if l.Auth == "" {
		return a, nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimRight(l.Auth, "\n"))
	if err != nil {
		return nil, fmt.Errorf("auth: must be base64 of USERNAME:PASSWORD: %w", err)
	}
	user, password, ok := strings.Cut(strings.TrimRight(string(data), "\x00"), ":")
	if !ok {
		return nil, errors.New("auth: must be base64 of USERNAME:PASSWORD: missing colon")
	}
	a.Username, a.Password = user, password
	return a, nil
}

// registryPattern strips the scheme and the API version from a registry address.
func registryPattern(address string) string {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	address = strings.TrimSuffix(address, "/")
	for _, version := range []string{"/v1", "/v2"} {
		address = strings.TrimSuffix(address, version)
	}
	return address
}

// matches reports whether the credential applies to the repository HOST[:PORT]/PATH.
func (c credential) matches(repository string) bool {
	host, repoPath, _ := strings.Cut(repository, "/")
	wantHost, wantPath, _ := strings.Cut(c.pattern, "/")
	if wantPath != "" && repoPath != wantPath && !strings.HasPrefix(repoPath, wantPath+"/") {
		return false
	}
	if isDockerHub(host) && isDockerHub(wantHost) {
		return true
	}
	host, port, _ := strings.Cut(host, ":")
	wantHost, wantPort, _ := strings.Cut(wantHost, ":")
	if wantPort != "" && wantPort != port {
		return false
	}
	parts, wantParts := strings.Split(host, "."), strings.Split(wantHost, ".")
	if len(parts) != len(wantParts) {
		return false
	}
	for i := range parts {
		if ok, err := path.Match(wantParts[i], parts[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// isDockerHub reports whether host is a name of the default registry.
func isDockerHub(host string) bool {
	return host == "docker.io" || host == "index.docker.io" || host == "registry-1.docker.io"
}
