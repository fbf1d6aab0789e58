package informers

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// describeDecodeError names the object and the field if the error is a value of the wrong type.
func describeDecodeError(js []byte, err error) error {
	var typeErr *json.UnmarshalTypeError
	if !errors.As(err, &typeErr) || typeErr.Field == "" {
		return err
	}
	var object metav1.PartialObjectMetadata
	_ = json.Unmarshal(js, &object) // the name remains empty if metadata is malformed
	return fmt.Errorf("%s %q: %s: %s: must be %s", object.Kind, object.Name, typeErr.Field, typeErr.Value, describeType(typeErr.Type))
}

// describeType describes the JSON values that a Go type accepts.
func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a value of type " + t.String()
}
