"""Ways of cutting a document into chunks. Offsets always point at the text in the document."""
