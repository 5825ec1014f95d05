"""The paper's claims, by subject: one file each, found by the ledger."""
