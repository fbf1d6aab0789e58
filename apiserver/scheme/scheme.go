package scheme

import (
	"fmt"
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/berthproject/berth/apiserver/kinds"
)

// Set holds the schemes and codecs of all served types.
type Set struct {
	// Scheme has every type in its version and as __internal.
	Scheme *runtime.Scheme
	// External has every type in its version only. OpenAPI names come from it.
	External *runtime.Scheme
	// Codecs encode and decode with Scheme.
	Codecs serializer.CodecFactory
	// ParameterCodec decodes query parameters.
	ParameterCodec runtime.ParameterCodec
}

// requestTypes are types of subresources that no kind stores.
var requestTypes = map[schema.GroupVersion][]runtime.Object{
	corev1.SchemeGroupVersion:           {&corev1.Binding{}},
	autoscalingv1.SchemeGroupVersion:    {&autoscalingv1.Scale{}},
	authenticationv1.SchemeGroupVersion: {&authenticationv1.TokenRequest{}},
	policyv1.SchemeGroupVersion:         {&policyv1.Eviction{}},
}

// New builds the schemes of the table. It returns an error if a kind shares the store of a kind that
// the table lacks. It panics if two different types have the same version and kind.
func New(table []kinds.Kind) (*Set, error) {
	s := runtime.NewScheme()
	external := runtime.NewScheme()
	for gv, types := range requestTypes {
		register(s, external, gv, types...)
	}
	register(s, external, corev1.SchemeGroupVersion, parameterTypes...)
	if err := addParameters(s); err != nil {
		return nil, fmt.Errorf("registering parameters of requests: %w", err)
	}
	for _, k := range table {
		if err := addKind(s, external, k, table); err != nil {
			return nil, err
		}
	}
	versions := versionsByGroup(table)
	for _, gv := range slices.Concat(slices.Collect(maps.Values(versions))...) {
		metav1.AddToGroupVersion(s, gv)
		metav1.AddToGroupVersion(external, gv)
	}
	v1 := schema.GroupVersion{Version: "v1"}
	if err := addV1beta1Eviction(s); err != nil {
		return nil, fmt.Errorf("registering policy/v1beta1 evictions: %w", err)
	}
	metav1.AddToGroupVersion(s, v1)
	metav1.AddToGroupVersion(external, v1)
	for group, groupVersions := range versions {
		if err := s.SetVersionPriority(groupVersions...); err != nil {
			return nil, fmt.Errorf("registering the versions of group %q: %w", group, err)
		}
	}
	return &Set{
		Scheme:         s,
		External:       external,
		Codecs:         serializer.NewCodecFactory(s),
		ParameterCodec: runtime.NewParameterCodec(s),
	}, nil
}

// versionsByGroup returns the versions of each group, in the order of the table. The first one is preferred and stored.
func versionsByGroup(table []kinds.Kind) map[string][]schema.GroupVersion {
	versions := map[string][]schema.GroupVersion{}
	add := func(gv schema.GroupVersion) {
		if !slices.Contains(versions[gv.Group], gv) {
			versions[gv.Group] = append(versions[gv.Group], gv)
		}
	}
	for _, k := range table {
		add(k.GroupVersion)
	}
	for gv := range requestTypes {
		add(gv)
	}
	return versions
}

func register(s, external *runtime.Scheme, gv schema.GroupVersion, types ...runtime.Object) {
	s.AddKnownTypes(gv, types...)
	s.AddKnownTypes(internalVersion(gv), types...)
	external.AddKnownTypes(gv, types...)
}

func internalVersion(gv schema.GroupVersion) schema.GroupVersion {
	return schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}
}

func addKind(s, external *runtime.Scheme, k kinds.Kind, table []kinds.Kind) error {
	types := []runtime.Object{k.New()}
	if k.NewList != nil {
		types = append(types, k.NewList())
	}
	if k.Hub == nil {
		register(s, external, k.GroupVersion, types...)
	} else {
		owner, found := kinds.Find(table, k.Hub.Of)
		if !found {
			return fmt.Errorf("%s shares the store of %s, which is not in the table", k.GroupResource(), k.Hub.Of)
		}
		s.AddKnownTypes(k.GroupVersion, types...)
		external.AddKnownTypes(k.GroupVersion, types...)
		s.AddKnownTypes(internalVersion(k.GroupVersion), owner.New(), owner.NewList())
		if err := k.Hub.AddConversions(s); err != nil {
			return fmt.Errorf("registering conversions of %s: %w", k.GroupResource(), err)
		}
	}
	if k.Default != nil {
		setDefaults := k.Default
		s.AddTypeDefaultingFunc(k.New(), func(obj any) { setDefaults(obj.(runtime.Object)) })
	}
	return addFieldLabels(s, k)
}

// addFieldLabels registers the selectable fields of a kind.
func addFieldLabels(s *runtime.Scheme, k kinds.Kind) error {
	if k.Fields == nil && k.FieldAliases == nil {
		return nil // the library supports metadata.name and metadata.namespace by default
	}
	names := map[string]string{"metadata.name": "metadata.name"}
	if k.Namespaced {
		names["metadata.namespace"] = "metadata.namespace"
	}
	if k.Fields != nil {
		for name := range k.Fields(k.New()) {
			names[name] = name
		}
	}
	maps.Copy(names, k.FieldAliases)
	return s.AddFieldLabelConversionFunc(k.GroupVersionKind(), func(label, value string) (string, string, error) {
		name, ok := names[label]
		if !ok {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return name, value, nil
	})
}

// addV1beta1Eviction registers conversions of policy/v1beta1 evictions, which old clients send. The
// version is not served.
func addV1beta1Eviction(s *runtime.Scheme) error {
	s.AddKnownTypes(policyv1beta1.SchemeGroupVersion, &policyv1beta1.Eviction{})
	if err := s.AddConversionFunc((*policyv1beta1.Eviction)(nil), (*policyv1.Eviction)(nil), func(a, b any, _ conversion.Scope) error {
		old := a.(*policyv1beta1.Eviction)
		*b.(*policyv1.Eviction) = policyv1.Eviction{ObjectMeta: old.ObjectMeta, DeleteOptions: old.DeleteOptions}
		return nil
	}); err != nil {
		return err
	}
	return s.AddConversionFunc((*policyv1.Eviction)(nil), (*policyv1beta1.Eviction)(nil), func(a, b any, _ conversion.Scope) error {
		eviction := a.(*policyv1.Eviction)
		*b.(*policyv1beta1.Eviction) = policyv1beta1.Eviction{ObjectMeta: eviction.ObjectMeta, DeleteOptions: eviction.DeleteOptions}
		return nil
	})
}
