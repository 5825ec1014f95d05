"""Mutation testing: small faults are put into the code one by one; do the tests notice?"""
