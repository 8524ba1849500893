// Package schematest holds documents of JSON to the schemas under schemas/, for tests.
package schematest
