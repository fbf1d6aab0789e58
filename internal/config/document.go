package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/internal/table"
)

// maxFileBytes is the maximum size of a configuration file.
const maxFileBytes = 4 << 20

// Document is one YAML document of a configuration file.
type Document struct {
	File             string
	APIVersion, Kind string
	JSON             []byte
	// FlagFields are the top-level fields that flags have set.
	FlagFields []string
}

// Documents reads configuration files and splits them into documents.
func Documents(files []string) ([]Document, error) {
	var out []Document
	for _, file := range files {
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		if err := SplitDocuments(file, data, func(doc []byte) error {
			d, err := parseDocument(file, doc)
			if err == nil {
				out = append(out, d)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s: %d bytes: a configuration file has at most %d", file, info.Size(), maxFileBytes)
	}
	return os.ReadFile(file)
}

func parseDocument(file string, doc []byte) (Document, error) {
	js, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return Document{}, err
	}
	var typeMeta struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if !bytes.HasPrefix(js, []byte("{")) && string(js) != "null" {
		return Document{}, errors.New("must be an object with apiVersion and kind")
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(js, &typeMeta); err != nil {
		return Document{}, err
	}
	if typeMeta.APIVersion == "" && typeMeta.Kind == DeschedulerKind { // as the Kubernetes descheduler does
		typeMeta.APIVersion = DeschedulerAPIVersion
	}
	if typeMeta.APIVersion == "" || typeMeta.Kind == "" {
		return Document{}, fmt.Errorf("apiVersion and kind must be set, for example %s and %s", APIVersion, Kind)
	}
	return Document{File: file, APIVersion: typeMeta.APIVersion, Kind: typeMeta.Kind, JSON: js}, nil
}

// ReadBerth decodes a BerthConfiguration over the defaults. Errors name unknown fields,
// duplicate fields and invalid values.
func ReadBerth(d Document) (Berth, error) {
	c := Default()
	if d.APIVersion != APIVersion || d.Kind != Kind {
		return c, fmt.Errorf("%s: %s %s: must be %s %s", d.File, d.APIVersion, d.Kind, APIVersion, Kind)
	}
	document, err := replaceRenamedOptions(d.JSON)
	if err != nil {
		return c, fmt.Errorf("%s: %w", d.File, err)
	}
	strict, err := kjson.UnmarshalStrict(document, &c)
	if err != nil { // UnmarshalStrict stops at a wrong type; decode reports all errors
		c = Default()
		var diags diagnostics
		diags.decode("", document, &c)
		if strict = diags.errs; len(strict) == 0 {
			strict = []error{err}
		}
	}
	errs := slices.Concat(strict, c.Validate())
	for i := range errs {
		errs[i] = fmt.Errorf("%s: %w", d.File, errs[i])
	}
	return c, errors.Join(errs...)
}

// Print writes the configuration as YAML with a comment above each option.
func Print(w io.Writer, c Berth) error {
	var b strings.Builder
	if err := printStruct(&b, reflect.ValueOf(c), ""); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printStruct(b *strings.Builder, v reflect.Value, indent string) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if doc := f.Tag.Get("doc"); doc != "" {
			for line := range strings.SplitSeq(table.Fill(doc, table.Width-len(indent)-len("# ")), "\n") {
				fmt.Fprintf(b, "%s# %s\n", indent, line)
			}
		}
		fmt.Fprintf(b, "%s%s:", indent, f.Tag.Get("json"))
		if f.Type.Kind() == reflect.Struct {
			b.WriteString("\n")
			if err := printStruct(b, v.Field(i), indent+"  "); err != nil {
				return err
			}
			continue
		}
		value, err := yaml.Marshal(v.Field(i).Interface())
		if err != nil {
			return err
		}
		if f.Type.Kind() == reflect.Slice && v.Field(i).Len() > 0 {
			b.WriteString("\n" + indent + "- " + strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(string(value)), "- "), "\n", "\n"+indent) + "\n")
			continue
		}
		b.WriteString(" " + strings.TrimSpace(string(value)) + "\n")
	}
	return nil
}
