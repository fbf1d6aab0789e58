// Package sbom describes the Go modules of a binary as an SPDX document.
package sbom

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// FromBinary returns the SPDX 2.3 document, as JSON, of the Go binary at path. digest is the SHA-256 of the binary in
// hexadecimal. Equal arguments give an equal document.
func FromBinary(path, name, version, digest string, created time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", path, err)
	}
	binary := &v2_3.Package{
		PackageName:             name,
		PackageSPDXIdentifier:   "binary",
		PackageVersion:          version,
		PackageDownloadLocation: "https://" + info.Main.Path,
		PackageLicenseDeclared:  "Apache-2.0",
		PackageChecksums:        []common.Checksum{{Algorithm: common.SHA256, Value: digest}},
		PrimaryPackagePurpose:   "APPLICATION",
	}
	doc := &v2_3.Document{
		SPDXVersion:       v2_3.Version,
		DataLicense:       v2_3.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      name + "-" + version,
		DocumentNamespace: fmt.Sprintf("https://%s/sbom/%s-%s-%s", info.Main.Path, name, version, digest),
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "berth-packaging"}},
			Created:  created.UTC().Format(time.RFC3339),
		},
		Packages:      []*v2_3.Package{binary},
		Relationships: []*v2_3.Relationship{relate("DOCUMENT", common.TypeRelationshipDescribe, "binary")},
	}
	addModule(doc, "std", &debug.Module{Path: "stdlib", Version: info.GoVersion})
	for i, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		addModule(doc, common.ElementID(fmt.Sprintf("module-%d", i+1)), dep)
	}
	var out bytes.Buffer
	if err := json.Write(doc, &out, json.Indent(" ")); err != nil {
		return nil, fmt.Errorf("writing the SBOM of %s: %w", path, err)
	}
	return out.Bytes(), nil
}

// addModule adds a module on which the binary depends.
func addModule(doc *v2_3.Document, id common.ElementID, m *debug.Module) {
	version := cmp.Or(m.Version, "(devel)")
	doc.Packages = append(doc.Packages, &v2_3.Package{
		PackageName:             m.Path,
		PackageSPDXIdentifier:   id,
		PackageVersion:          version,
		PackageDownloadLocation: "NOASSERTION",
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager,
			RefType:  common.TypePackageManagerPURL,
			Locator:  "pkg:golang/" + m.Path + "@" + version,
		}},
	})
	doc.Relationships = append(doc.Relationships, relate("binary", common.TypeRelationshipDependsOn, id))
}

// relate returns a relationship between two elements of the document.
func relate(from common.ElementID, kind string, to common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, Relationship: kind, RefB: common.DocElementID{ElementRefID: to},
	}
}
