package quantities

import (
	"fmt"
	"mime"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Error is a quantity that exceeds the limits.
type Error struct {
	Field string // keys and indexes, separated by dots; empty in protobuf
	Err   error
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return e.Field + ": " + e.Err.Error()
}

// Checker checks requests. Its methods may be called concurrently.
type Checker struct {
	scheme    *runtime.Scheme
	resources map[schema.GroupVersionResource]reflect.Type
}

// New returns a checker of the resources with the given Go types. The scheme has the types of all kinds.
func New(scheme *runtime.Scheme, resources map[schema.GroupVersionResource]reflect.Type) *Checker {
	return &Checker{scheme: scheme, resources: resources}
}

// Check returns an error if the body of a request for the resource has a quantity that exceeds the limits.
func (c *Checker) Check(gvr schema.GroupVersionResource, header http.Header, body []byte) error {
	t, ok := c.resources[gvr]
	if !ok {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		mediaType = runtime.ContentTypeJSON
	}
	switch mediaType {
	case runtime.ContentTypeProtobuf:
		return c.checkProtobuf(body, t)
	case string(types.JSONPatchType):
		return checkPatch(body, nodeOf(t))
	case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil // the decoder reports it
		}
	}
	if !suspicious(body) {
		return nil
	}
	// The decoder uses the kind in the body.
	if kind, err := json.DefaultMetaFactory.Interpret(body); err == nil {
		if err := checkJSON(body, c.nodeOfKind(*kind)); err != nil {
			return err
		}
	}
	return checkJSON(body, nodeOf(t))
}

// nodeOfKind returns the node of a kind, or nil if the kind is not registered.
func (c *Checker) nodeOfKind(kind schema.GroupVersionKind) *node {
	o, err := c.scheme.New(kind)
	if err != nil {
		return nil
	}
	return nodeOf(reflect.TypeOf(o))
}

// protobufPrefix precedes the envelope, a runtime.Unknown.
const protobufPrefix = "k8s\x00"

func (c *Checker) checkProtobuf(body []byte, t reflect.Type) error {
	var envelope runtime.Unknown
	if len(body) < len(protobufPrefix) || string(body[:len(protobufPrefix)]) != protobufPrefix || envelope.Unmarshal(body[len(protobufPrefix):]) != nil {
		return nil // the decoder reports it
	}
	for _, n := range []*node{nodeOf(t), c.nodeOfKind(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))} {
		if n == nil {
			continue
		}
		if err := checkProtobuf(envelope.Raw, n); err != nil {
			return fmt.Errorf("protobuf of %s: %w", t.Elem().Name(), err)
		}
	}
	return nil
}
