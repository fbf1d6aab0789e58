package core

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultSecret sets the type Opaque and moves stringData to data.
func DefaultSecret(s *corev1.Secret) {
	defaulting.Set(&s.Type, corev1.SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, value := range s.StringData {
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

// PrepareSecretForUpdate restores the type if the update omits it.
func PrepareSecretForUpdate(s, old *corev1.Secret) {
	defaulting.Set(&s.Type, old.Type)
}

// ValidateSecret validates keys, the total size of at most 1 MiB, and the keys that the type
// requires.
func ValidateSecret(s *corev1.Secret) field.ErrorList {
	errs := checks.ObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	total, data := 0, field.NewPath("data")
	for _, key := range checks.SortedKeys(s.Data) {
		errs = append(errs, checks.InvalidEach(data.Key(key), key, validation.IsConfigMapKey(key))...)
		total += len(s.Data[key])
	}
	if total > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	return append(errs, validateSecretType(s, data)...)
}

func validateSecretType(s *corev1.Secret, data *field.Path) field.ErrorList {
	var errs field.ErrorList
	require := func(key string) {
		if _, found := s.Data[key]; !found {
			errs = append(errs, field.Required(data.Key(key), ""))
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		return validateJSONKey(s, corev1.DockerConfigKey, data)
	case corev1.SecretTypeDockerConfigJson:
		return validateJSONKey(s, corev1.DockerConfigJsonKey, data)
	case corev1.SecretTypeBasicAuth:
		_, hasUser := s.Data[corev1.BasicAuthUsernameKey]
		_, hasPassword := s.Data[corev1.BasicAuthPasswordKey]
		if !hasUser && !hasPassword {
			require(corev1.BasicAuthUsernameKey)
			require(corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			errs = append(errs, field.Required(data.Key(corev1.SSHAuthPrivateKey), ""))
		}
	case corev1.SecretTypeTLS:
		require(corev1.TLSCertKey)
		require(corev1.TLSPrivateKeyKey)
	}
	return errs
}

// validateJSONKey requires a key with a JSON object. The error does not contain the value.
func validateJSONKey(s *corev1.Secret, key string, data *field.Path) field.ErrorList {
	value, found := s.Data[key]
	if !found {
		return field.ErrorList{field.Required(data.Key(key), "")}
	}
	if err := json.Unmarshal(value, &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(data.Key(key), "<secret contents redacted>", err.Error())}
	}
	return nil
}

// ValidateSecretUpdate validates an update. The type is immutable. The data is immutable if the old Secret sets immutable.
func ValidateSecretUpdate(s, old *corev1.Secret) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(s.Type, old.Type, field.NewPath("type"))...)
	if isImmutable(old.Immutable) {
		if !isImmutable(s.Immutable) {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableFieldText))
		}
		if !checks.SemanticEqual(s.Data, old.Data) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), immutableFieldText))
		}
	}
	return append(errs, ValidateSecret(s)...)
}
