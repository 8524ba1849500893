// Package schematest holds documents of JSON to the schemas under schemas/, and the formats of a result to golden
// files, for tests.
package schematest
