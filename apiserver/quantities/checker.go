package quantities

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Error reports a quantity that exceeds the limits.
type Error struct {
	Field string // keys and indexes, separated by dots; empty in protobuf
	Err   error
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%.200s: %v", e.Field, e.Err)
}

// Checker checks requests. Its methods may be called concurrently.
type Checker struct {
	scheme    *runtime.Scheme
	resources map[schema.GroupVersionResource]reflect.Type
}

// New returns a checker of the resources with the given Go types. The scheme is that of the decoder.
func New(scheme *runtime.Scheme, resources map[schema.GroupVersionResource]reflect.Type) *Checker {
	return &Checker{scheme: scheme, resources: resources}
}

// Check returns an error if the body of a request for the resource has a quantity that exceeds the limits.
func (c *Checker) Check(gvr schema.GroupVersionResource, header http.Header, body []byte) error {
	t, ok := c.resources[gvr]
	if !ok {
		return nil
	}
	mediaType, _, _ := strings.Cut(header.Get("Content-Type"), ";") // parameters may be invalid
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case runtime.ContentTypeProtobuf:
		return c.checkProtobuf(gvr, body, t)
	case string(types.JSONPatchType):
		return checkPatch(body, nodeOf(t))
	case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
		var err error
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil // the decoder reports it
		}
	}
	if !suspicious(body) {
		return nil
	}
	// The decoder of objects uses the kind in the body, that of patches the resource.
	if kind, err := json.DefaultMetaFactory.Interpret(body); err == nil && kind.Kind != "" {
		if n := c.nodeOfKind(gvr, *kind); n != nodeOf(t) {
			if err := checkJSON(body, n); err != nil {
				return err
			}
		}
	}
	return checkJSON(body, nodeOf(t))
}

// nodeOfKind returns the node of a kind in a request for a resource, or nil if the kind is not registered.
func (c *Checker) nodeOfKind(gvr schema.GroupVersionResource, kind schema.GroupVersionKind) *node {
	if kind.Version == "" { // as the decoder
		kind.Group, kind.Version = gvr.Group, gvr.Version
	}
	o, err := c.scheme.New(kind)
	if err != nil {
		return nil
	}
	return nodeOf(reflect.TypeOf(o))
}

// protobufPrefix precedes the envelope, a runtime.Unknown.
const protobufPrefix = "k8s\x00"

// errMalformed refuses protobuf that this package cannot read. The decoder reads some of it.
var errMalformed = errors.New("malformed protobuf")

func (c *Checker) checkProtobuf(gvr schema.GroupVersionResource, body []byte, t reflect.Type) error {
	var envelope runtime.Unknown
	if len(body) < len(protobufPrefix) || string(body[:len(protobufPrefix)]) != protobufPrefix || envelope.Unmarshal(body[len(protobufPrefix):]) != nil {
		return nil // the decoder reports it
	}
	n := nodeOf(t)
	if envelope.Kind != "" {
		n = c.nodeOfKind(gvr, schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))
	}
	if n == nil {
		return nil
	}
	if err := checkProtobuf(envelope.Raw, n); err != nil {
		return fmt.Errorf("protobuf of %s: %w", n.goType.Name(), err)
	}
	return nil
}
