// Reads one stream of RecommendationService and prints a line of JSON for each event as it comes, then one for the end.
//
//   node client.mjs TARGET DESCRIPTOR_SET REQUEST_JSON TIMEOUT_MS
//
// The descriptor set holds the contract with its imports, so that no other proto file is needed. Fields are named as in
// the proto files.

import { readFileSync } from 'node:fs'
import grpc from '@grpc/grpc-js'
import loader from '@grpc/proto-loader'

const [target, descriptorSet, request, timeoutMs] = process.argv.slice(2)
const definition = loader.loadFileDescriptorSetFromBuffer(readFileSync(descriptorSet), {
  enums: String,
  longs: String,
  oneofs: true
})
const { RecommendationService } = grpc.loadPackageDefinition(definition).headway.v1
const client = new RecommendationService(target, grpc.credentials.createInsecure())
const stream = client.Recommend(JSON.parse(request), { deadline: Date.now() + Number(timeoutMs) })

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n')
stream.on('data', (response) => say({ [response.event]: response[response.event] }))
stream.on('error', () => {}) // Every call ends with 'status', an error too.
stream.on('status', ({ code, details, metadata }) => {
  const binary = (key) => metadata.get(key).map((value) => value.toString('base64'))
  say({
    end: {
      code: grpc.status[code],
      details,
      ledger: binary('headway-ledger-bin'),
      status: binary('grpc-status-details-bin')
    }
  })
  client.close()
})
