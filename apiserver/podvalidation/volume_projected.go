package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// Limits of the token lifetime, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// downwardFile validates a downward API file. As in Kubernetes, errors name the volume and not the
// item.
func (r *errorCollector) downwardFile(file *corev1.DownwardAPIVolumeFile, path *field.Path) {
	if r.nonEmpty(file.Path, path.Child("path")) {
		r.projectedPath(file.Path, path.Child("path"))
	}
	switch {
	case file.FieldRef != nil:
		r.fieldRef(file.FieldRef, volumeFields, path.Child("fieldRef"))
		if file.ResourceFieldRef != nil {
			r.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case file.ResourceFieldRef != nil:
		r.resourceFieldRef(file.ResourceFieldRef, true, path.Child("resourceFieldRef"))
	default:
		r.required(path, "one of fieldRef and resourceFieldRef is required")
	}
	r.fileMode(file.Mode, path.Child("mode"))
}

// projection is the state of validating a projected volume, whose sources share one directory.
type projection struct {
	*errorCollector
	files podfields.NameSet
	whole *field.Path
}

func (p *projection) uniqueFile(name string, source string) {
	if name != "" && !p.files.Add(name) {
		p.invalid(p.whole, source, "conflicting duplicate paths")
	}
}

func (r *errorCollector) projected(volume *corev1.ProjectedVolumeSource, path *field.Path) {
	r.fileMode(volume.DefaultMode, path.Child("defaultMode"))
	p := projection{errorCollector: r, files: podfields.NameSet{}, whole: path}
	for i := range volume.Sources {
		p.source(&volume.Sources[i], path.Child("sources").Index(i))
	}
}

func (p *projection) source(s *corev1.VolumeProjection, path *field.Path) {
	found := 0
	first := func(set bool, name string) bool {
		if !set {
			return false
		}
		found++
		if found > 1 {
			p.forbidden(path.Child(name), "may not specify more than 1 volume type")
		}
		return found == 1
	}
	if first(s.Secret != nil, "secret") {
		p.keys(s.Secret.Name, s.Secret.Items, path.Child("secret"))
	}
	if first(s.ConfigMap != nil, "configMap") {
		p.keys(s.ConfigMap.Name, s.ConfigMap.Items, path.Child("configMap"))
	}
	if first(s.DownwardAPI != nil, "downwardAPI") {
		for i := range s.DownwardAPI.Items {
			item := &s.DownwardAPI.Items[i]
			p.downwardFile(item, path.Child("downwardAPI"))
			p.uniqueFile(item.Path, item.Path)
		}
	}
	if first(s.ServiceAccountToken != nil, "serviceAccountToken") {
		p.token(s.ServiceAccountToken, path.Child("serviceAccountToken"))
	}
	if first(s.ClusterTrustBundle != nil, "clusterTrustBundle") {
		p.trustBundle(s.ClusterTrustBundle, path.Child("clusterTrustBundle"))
	}
	if first(s.PodCertificate != nil, "podCertificate") {
		p.certificate(s.PodCertificate, path.Child("podCertificate"))
	}
}

func (p *projection) keys(name string, items []corev1.KeyToPath, path *field.Path) {
	p.nonEmpty(name, path.Child("name"))
	p.keysToPaths(items, path.Child("items"))
	for _, item := range items {
		p.uniqueFile(item.Path, name)
	}
}

func (p *projection) token(token *corev1.ServiceAccountTokenProjection, path *field.Path) {
	if seconds := token.ExpirationSeconds; seconds != nil {
		if *seconds < minTokenSeconds {
			p.invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration less than 10 minutes")
		}
		if *seconds > maxTokenSeconds {
			p.invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration larger than 2^32 seconds")
		}
	}
	if p.nonEmpty(token.Path, path.Child("path")) {
		p.projectedPath(token.Path, path.Child("path"))
	}
}

func (p *projection) trustBundle(bundle *corev1.ClusterTrustBundleProjection, path *field.Path) {
	bySigner, byName := bundle.SignerName != nil, bundle.Name != nil
	switch {
	case bySigner && byName:
		p.invalid(path, bundle, "only one of name and signerName may be used")
	case bySigner:
		p.nonEmpty(*bundle.SignerName, path.Child("signerName"))
		p.add(unversioned.ValidateLabelSelector(bundle.LabelSelector, unversioned.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
	case byName:
		p.nonEmpty(*bundle.Name, path.Child("name"))
		if bundle.LabelSelector != nil {
			p.invalid(path.Child("labelSelector"), bundle.LabelSelector, "labelSelector must be unset if name is specified")
		}
	default:
		p.required(path, "either name or signerName must be specified")
	}
	p.requiredUniquePath(bundle.Path, path.Child("path"))
}

func (p *projection) certificate(certificate *corev1.PodCertificateProjection, path *field.Path) {
	p.nonEmpty(certificate.SignerName, path.Child("signerName"))
	requiredOneOf(p.errorCollector, certificate.KeyType, path.Child("keyType"),
		"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	for _, f := range []struct{ name, file string }{
		{"credentialBundlePath", certificate.CredentialBundlePath},
		{"keyPath", certificate.KeyPath},
		{"certificateChainPath", certificate.CertificateChainPath},
	} {
		if f.file != "" {
			p.requiredUniquePath(f.file, path.Child(f.name))
		}
	}
}

// requiredUniquePath requires a path that is unique in the volume.
func (p *projection) requiredUniquePath(name string, path *field.Path) {
	if !p.nonEmpty(name, path) {
		return
	}
	p.projectedPath(name, path)
	if !p.files.Add(name) {
		p.invalid(path, name, "conflicting duplicate paths")
	}
}
